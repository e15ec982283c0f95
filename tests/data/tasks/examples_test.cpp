// Generated examples stay the same: a config with a seed trains on the same data in every version.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include <xgrad/data/task.hpp>
#include <xgrad/storage/formats/sha256.hpp>

#include "support/source_tree.hpp"

namespace xgrad {
namespace {

template <class Element>
void append(std::string& bytes, const std::vector<Element>& elements) {
  const std::uint64_t size = elements.size();
  bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
  bytes.append(reinterpret_cast<const char*>(elements.data()), size * sizeof(Element));
}

// SHA-256 of the first twenty examples of each split, with the default options and seed 1.
std::string digest_of(const TaskEntry& entry) {
  const std::unique_ptr<Task> task = entry.make({}, 1);
  std::string bytes;
  for (const Split split : {Split::train, Split::validation, Split::test}) {
    const std::unique_ptr<Dataset> data = task->dataset(split);
    for (std::uint64_t i = 0; i < 20; ++i) {
      const Example example = data->get(0, i);
      append(bytes, example.ids);
      append(bytes, example.features);
      append(bytes, example.targets);
      append(bytes, example.values);
      append(bytes, example.edges);
    }
  }
  return to_hex(sha256(bytes));
}

// Each line of the file is the name of a task and its digest. A failure prints the digest that a
// changed task has.
TEST(GeneratedTasks, HaveTheirRecordedExamples) {
  std::ifstream file(test::source_path("tests/golden/examples.txt"));
  std::map<std::string, std::string> recorded;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    std::string name, digest;
    words >> name >> digest;
    recorded[name] = digest;
  }
  for (const TaskEntry& entry : tasks()) {
    if (entry.name == "one_digit") continue;  // of another test
    const bool generated = entry.debian_packages.empty() && entry.name != "files";
    EXPECT_EQ(recorded.count(entry.name), std::size_t(generated)) << entry.name;
    if (generated) {
      EXPECT_EQ(recorded[entry.name], digest_of(entry)) << entry.name;
    }
  }
}

}  // namespace
}  // namespace xgrad

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "autograd/op_table.hpp"
#include "support/source_tree.hpp"

namespace xgrad::test {

namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> names_in(const std::string& source) {
  // An op says `name() const override { return "add"; }`, or chooses between two names there. The
  // members of a family say `kName = "softmax"`, or pass their name to unary<>() or a mean loss.
  static const std::regex pattern(
      R"re((?:name\(\) const override \{\s*return|kName =|)re"
      R"re(return unary<[^>]+>\(|return (?:mean|distance)_loss\()([^;]+);)re");
  static const std::regex quoted(R"re("([^"]+)")re");
  std::set<std::string> names;
  for (auto i = std::sregex_iterator(source.begin(), source.end(), pattern);
       i != std::sregex_iterator(); ++i) {
    const std::string returned = (*i)[1];
    for (auto j = std::sregex_iterator(returned.begin(), returned.end(), quoted);
         j != std::sregex_iterator(); ++j) {
      names.insert((*j)[1]);
    }
  }
  return names;
}

}  // namespace

// G1: no op without a row.
TEST(OpTable, EveryOpIsChecked) {
  std::set<std::string> checked;
  for (const OpCase& row : op_cases()) checked.insert(row.op);
  std::set<std::string> defined;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("autograd/ops"))) {
    if (entry.path().extension() != ".cpp") continue;
    const std::set<std::string> names = names_in(text_of(entry.path()));
    EXPECT_FALSE(names.empty()) << entry.path() << " names no op in a form that this test finds";
    defined.insert(names.begin(), names.end());
  }
  EXPECT_EQ(checked, defined);
}

}  // namespace xgrad::test

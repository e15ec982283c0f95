// Data sets that are wrong, and what is said of them.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/task.hpp>

#include <support/temporary_directory.hpp>

namespace xgrad {

struct Broken {
  const char* what;
  const char* file;  // its name
  std::string bytes;
  Options options;
  std::string message;  // FILE stands for the file's path
};

/// Returns the error of reading the split.
inline std::string error_of(const Options& options, Split split = Split::train) {
  try {
    find_task("files").make(options, 1)->dataset(split);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

/// Of a training file of each row.
inline void expect_messages(const std::vector<Broken>& table) {
  for (const Broken& row : table) {
    const test::TemporaryDirectory folder;
    const bool array = std::string(row.file).starts_with("x/");
    if (array) std::filesystem::create_directory(folder / "x");
    const std::string path = folder.write(row.file, row.bytes);
    std::string expected = row.message;
    for (const auto& [mark, text] : {std::pair("FILE", path), {"FOLDER", folder / "x"}}) {
      if (expected.starts_with(mark)) expected.replace(0, std::strlen(mark), text);
    }
    Options options = row.options;
    options["train"] = array ? folder / "x" : path;
    EXPECT_EQ(error_of(options), expected) << row.what;
  }
}

}  // namespace xgrad

// How long an example is, without making it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include <xgrad/data/batch.hpp>
#include <xgrad/data/task.hpp>

#include <support/temporary_directory.hpp>

namespace {

thread_local std::size_t allocations = 0;

}  // namespace

// AddressSanitizer has operators of its own, so it counts nothing here. GCC warns of a replaced
// operator that it inlines.
#ifndef __SANITIZE_ADDRESS__
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* block = std::malloc(size)) return block;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* block) noexcept {
  std::free(block);
}
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept {
  std::free(block);
}
#endif

namespace xgrad {
namespace {

TEST(Length, OfARowTakesNoCopy) {
  const test::TemporaryDirectory folder;
  std::string words, vectors;
  for (int i = 0; i < 3000; ++i) {  // more than one block of them
    const std::string label = R"(, "label": ")" + std::string(i % 2 ? "x" : "y") + "\"}\n";
    std::string text = "w" + std::to_string(i), list = "[1, 2]";
    for (int k = 0; k < i % 7; ++k) {
      text += " a";
      list += ", [" + std::to_string(i) + ", 4]";
    }
    words += R"({"text": ")" + text + '"' + label;
    vectors += R"({"text": [)" + list + ']' + label;
  }
  const std::string path = folder.write("words.jsonl", words);
  const std::string of_numbers = folder.write("vectors.jsonl", vectors);
  const std::vector<Options> all = {{{"train", path}},
                                    {{"train", path}, {"labels", "masked"}},
                                    {{"train", of_numbers}, {"tokens", "numbers"}}};
  for (const Options& options : all) {
    const auto task = find_task("files").make(options, 1);
    const TaskShape shape = task->shape();
    for (const Split split : {Split::train, Split::test}) {
      const auto data = task->dataset(split);
      std::size_t longest = 0, made = 0;
      for (std::size_t i = 0; i < data->size(); ++i) {
        const std::size_t before = allocations, length = data->length(i, shape);
        made += allocations - before;
        ASSERT_EQ(length, length_of(data->get(0, i), shape)) << i;
        longest = std::max(longest, length);
      }
      EXPECT_EQ(longest, 7);
      EXPECT_EQ(made, 0);
    }
  }
}

}  // namespace
}  // namespace xgrad

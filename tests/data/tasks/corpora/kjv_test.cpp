// The King James Bible: a few verses written here, and Debian's where the program is installed.
#include <gtest/gtest.h>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/task.hpp>

#include <support/temporary_directory.hpp>

namespace xgrad {
namespace {

struct Verses : test::TemporaryDirectory {
  Verses() {
    std::string text;
    for (int i = 1; i <= 100; ++i) {
      text += "Ge1:" + std::to_string(i) + " And God saw " + std::to_string(i) + " lights\n";
      text += "1Sm2:" + std::to_string(i) + " And David went to " + std::to_string(i) + " towns\n";
    }
    write("verses", text);
  }
  std::unique_ptr<Task> task(Options options) const {
    options.insert({"path", *this / "verses"});
    return find_task("kjv").make(options, 1);
  }
};

TEST(Kjv, TheBookOfAVerse) {
  const Verses folder;
  const auto of = folder.task({{"predict", "book"}});
  EXPECT_EQ(of->shape().class_names, (std::vector<std::string>{"1Sm", "Ge"}));
  EXPECT_EQ(of->shape().output, OutputKind::sequence);
  EXPECT_EQ(of->rules().at(0).accuracy, 1);
  EXPECT_EQ(of->parse("And David saw").targets, std::vector<std::int32_t>());
}

TEST(Kjv, HiddenCharacters) {
  const Verses folder;
  const auto of = folder.task({{"max_length", 20}});
  const TaskShape shape = of->shape();
  EXPECT_EQ(shape.output, OutputKind::tokens);
  EXPECT_EQ(shape.max_length, 20);
  EXPECT_EQ(shape.token_names[1], "<mask>");
  EXPECT_EQ(shape.token_names[2], "␣") << "the most frequent";
  const std::vector<Rule> rules = of->rules();
  ASSERT_EQ(rules.size(), 2);
  EXPECT_GT(rules[1].accuracy, rules[0].accuracy);
}

TEST(Kjv, WhatIsNoVerseIsAnError) {
  const Verses folder;
  for (const char* line : {"And God saw", "Ge1 1 And", "Ge1:1", "Ge1:1 ", "1:1 And", ":1 And"}) {
    folder.write("verses", std::string("Ge1:1 In the beginning\n") + line + "\n");
    try {
      folder.task({})->shape();
      ADD_FAILURE() << line;
    } catch (const DataError& error) {
      EXPECT_EQ(std::string(error.what()), folder / "verses" +
                                               ": line 2: is not a verse such as \"Ge1:1 In the "
                                               "beginning\": \"" +
                                               line + "\"");
    }
  }
}

TEST(RealKjv, HasItsVersesAndBooks) {
  const auto of = find_task("kjv").make({{"predict", "book"}}, 1);
  EXPECT_EQ(of->shape().classes, 66);
  std::size_t rows = 0;
  for (Split split : {Split::train, Split::validation, Split::test})
    rows += of->dataset(split)->size();
  EXPECT_EQ(rows, 31102);
}

TEST(RealKjv, TellsBooksByPairsOfWordsToo) {
  const auto of = find_task("kjv").make({{"predict", "book"}, {"tokens", "word_pairs"}}, 1);
  const std::vector<std::string> names = of->shape().token_names;
  std::string read;
  for (const std::int32_t id : of->parse("In the beginning").ids) read += names[id] + " ";
  EXPECT_EQ(read, "in in_the the the_beginning beginning ");
}

}  // namespace
}  // namespace xgrad

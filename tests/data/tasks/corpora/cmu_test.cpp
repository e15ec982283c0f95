// The pronouncing dictionary: a small one written here, and Debian's where it is installed.
#include <gtest/gtest.h>

#include <set>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/data/tasks/corpora/cmu.hpp>

#include <support/temporary_directory.hpp>

namespace xgrad {
namespace {

/// Words of the letters a, b and n, which sound as they are written; a second n in a row is silent.
std::string small_dictionary() {
  std::string text = "MNCL\n";
  for (int i = 0; i < 2187; ++i) {
    std::string word, phones;
    for (int rest = i; word.size() < 7; rest /= 3) {
      const char c = "abn"[rest % 3];
      if (c != 'n' || !word.ends_with('n'))
        phones += std::string(phones.empty() ? "" : " ") + (c == 'a' ? "ax" : c == 'b' ? "b" : "n");
      word += c;
    }
    text += "(\"" + word + "\" nil (((" + phones + ") 1)))\n";
  }
  return text;
}

std::unique_ptr<Task> task(const std::string& path) {
  return find_task("cmu").make({{"path", path}}, 1);
}

std::string labels(const Example& example, const TaskShape& shape) {
  std::string text;
  for (const std::int32_t id : example.targets) text += shape.class_names.at(std::size_t(id)) + " ";
  return text;
}

std::string letters(const Example& example, const TaskShape& shape) {
  std::string word;
  for (const std::int32_t id : example.ids) word += shape.token_names.at(std::size_t(id));
  return word;
}

TEST(Cmu, GivesEachLetterItsPhones) {
  const test::TemporaryDirectory folder;
  const auto of = task(folder.write("dict", small_dictionary()));
  const TaskShape shape = of->shape();
  EXPECT_EQ(shape.output, OutputKind::tokens);
  EXPECT_EQ(shape.class_names, (std::vector<std::string>{"_", "ax", "b", "n", "?"}));
  std::size_t seen = 0;
  for (Split split : {Split::train, Split::validation, Split::test}) {
    const auto dataset = of->dataset(split);
    for (std::size_t i = 0; i < dataset->size(); ++i, ++seen) {
      const Example example = dataset->get(0, i);
      std::string expected, last;
      for (const char c : letters(example, shape)) {
        const std::string phone = c == 'a' ? "ax" : std::string(1, c);
        const bool silent = phone == "n" && last == "n";
        expected += (silent ? "_" : phone) + " ";
        last = phone;
      }
      ASSERT_EQ(labels(example, shape), expected) << letters(example, shape);
    }
  }
  EXPECT_EQ(seen, 2187);
}

TEST(Cmu, WordsThatCannotBeAlignedAreNeverRight) {
  const test::TemporaryDirectory folder;
  std::string text = small_dictionary();
  for (int i = 0; i < 60; ++i) {  // four phones for two letters, in a split each
    text += std::string("(\"b") + char('c' + i % 20) +
            (i < 20   ? ""
             : i < 40 ? "x"
                      : "z") +
            "\" nil (((b b b n ax b n) 1)))\n";
  }
  const auto of = task(folder.write("dict", text));
  const TaskShape shape = of->shape();
  std::size_t trained = 0, asked = 0;
  for (Split split : {Split::train, Split::validation, Split::test}) {
    const auto dataset = of->dataset(split);
    for (std::size_t i = 0; i < dataset->size(); ++i) {
      const Example example = dataset->get(0, i);
      if (labels(example, shape).find('?') == std::string::npos) continue;
      (split == Split::train ? trained : asked) += 1;
    }
  }
  EXPECT_EQ(trained, 0);
  EXPECT_GT(asked, 4);
}

TEST(Cmu, DamagedDictionariesAreErrors) {
  const auto error_of = [](const std::string& text) -> std::string {
    const test::TemporaryDirectory folder;
    const std::string path = folder.write("dict", text);
    try {
      task(path)->shape();
    } catch (const DataError& error) {
      return std::string(error.what()).substr(path.size());
    }
    return "none";
  };
  EXPECT_EQ(error_of(""), ": has no words");
  EXPECT_EQ(
      error_of("MNCL\n(\"at\" nil (((ae t) 1)\n"),
      ": line 2: is not an entry such as (\"at\" nil (((ae t) 1))): \"(\"at\" nil (((ae t) 1)\"");
  EXPECT_EQ(error_of("(\"at\" nil (((AE t) 1)))\n"), ": line 1: \"AE\" is not a phone");
  EXPECT_EQ(error_of("(\"at\" nil ((() 1)))\n"), ": line 1: has no phones");
  try {
    task("/nowhere/dict")->shape();
    FAIL();
  } catch (const DataError& error) {
    EXPECT_EQ(std::string(error.what()),
              "/nowhere/dict: there is no such file; install it with: apt-get install festlex-cmu");
  }
}

class RealCmu : public testing::Test {
 protected:
  static void SetUpTestSuite() { task_ = find_task("cmu").make({}, 1); }
  static void TearDownTestSuite() { task_.reset(); }
  static std::unique_ptr<Task> task_;
};
std::unique_ptr<Task> RealCmu::task_;

TEST_F(RealCmu, NoStemIsInTwoSplits) {
  const TaskShape shape = task_->shape();
  std::map<std::string, Split> owner;
  std::map<Split, std::size_t> sizes;
  std::size_t odd = 0;
  for (Split split : {Split::train, Split::validation, Split::test}) {
    const auto dataset = task_->dataset(split);
    sizes[split] = dataset->size();
    for (std::size_t i = 0; i < dataset->size(); ++i) {
      const Example example = dataset->get(0, i);
      const std::string root = stem(letters(example, shape));
      ASSERT_EQ(owner.emplace(root, split).first->second, split) << root;
      odd += split == Split::test && labels(example, shape).find('?') != std::string::npos;
    }
  }
  EXPECT_NEAR(double(sizes[Split::test]), 10550, 600);
  EXPECT_NEAR(double(sizes[Split::validation]), 10550, 600);
  EXPECT_NEAR(double(sizes[Split::train]), 84430, 1300);
  EXPECT_LT(double(odd), 0.006 * double(sizes[Split::test])) << "words without an alignment";
}

// What a person would write.
TEST_F(RealCmu, AlignsWordsAsPeopleDo) {
  const std::map<std::string, std::string> expected = {
      {"abandon", "ax b ae n d ax n "},
      {"leech", "l iy _ ch _ "},
      {"combating", "k ax m b ae t ih ng _ "},
      {"garza", "g aa r z ax "},
      {"reinforcing", "r iy ih n f ao r s ih ng _ "}};
  const TaskShape shape = task_->shape();
  std::size_t found = 0;
  for (Split split : {Split::train, Split::validation, Split::test}) {
    const auto dataset = task_->dataset(split);
    for (std::size_t i = 0; i < dataset->size(); ++i) {
      const Example example = dataset->get(0, i);
      const auto word = expected.find(letters(example, shape));
      if (word == expected.end()) continue;
      EXPECT_EQ(labels(example, shape), word->second) << word->first;
      ++found;
    }
  }
  EXPECT_EQ(found, expected.size());
}

TEST_F(RealCmu, WiderWindowsPronounceMoreWords) {
  const std::vector<Rule> rules = task_->rules();
  ASSERT_EQ(rules.size(), 3);
  EXPECT_LT(rules[0].exact, 0.05);
  EXPECT_LT(rules[0].accuracy, rules[1].accuracy);
  EXPECT_LT(rules[1].accuracy, rules[2].accuracy);
  EXPECT_LT(rules[2].exact, 0.66) << "what the config claims";
}

}  // namespace
}  // namespace xgrad

// Words of seven languages: small lists written here, and Debian's.
#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <filesystem>
#include <map>
#include <set>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/tables/table.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/text/text.hpp>

#include <support/temporary_directory.hpp>

#include "support/source_tree.hpp"

namespace xgrad {
namespace {

const std::vector<std::string> kFiles = {"dutch",   "american-english", "french", "ngerman",
                                         "italian", "portuguese",       "spanish"};
const std::vector<std::string> kNames = {"dutch",   "english",    "french", "german",
                                         "italian", "portuguese", "spanish"};
constexpr Split kSplits[] = {Split::train, Split::validation, Split::test};

std::string word_of(const Example& example, const TaskShape& shape) {
  std::string word;
  for (const std::int32_t id : example.ids) word += shape.token_names.at(std::size_t(id));
  return word;
}

// The words of all splits by language; none is in two splits, or twice in one.
std::map<std::string, std::set<std::string>> words_of(const Task& task) {
  const TaskShape shape = task.shape();
  std::map<std::string, std::set<std::string>> found;
  std::set<std::string> all;
  for (const Split split : kSplits) {
    const auto data = task.dataset(split);
    for (std::size_t i = 0; i < data->size(); ++i) {
      const Example example = data->get(0, i);
      const std::string word = word_of(example, shape);
      EXPECT_TRUE(all.insert(word).second) << word;
      found[shape.class_names.at(std::size_t(example.targets.at(0)))].insert(word);
    }
  }
  return found;
}

struct Lists : test::TemporaryDirectory {
  // 200 words of each language, made of letters of its own, then lines that are no words of it.
  Lists() {
    for (std::size_t l = 0; l < kFiles.size(); ++l) {
      std::string text;
      for (int i = 0; i < 200 + 10 * int(l); ++i) text += own(l, i) + "\n";
      write(kFiles[l], text + "Both\nit's\nco-op\n3rd\nA.\n\n");
    }
    write("french", read_bytes(*this / "french") + "ÉTÉ\nété\nChâteau\n");
    write("spanish", read_bytes(*this / "spanish") + "château\n");  // as French has
  }
  static std::string own(std::size_t language, int i) {
    std::string word(1, char('A' + language));
    for (; i > 0; i /= 5) word += "aeiou"[i % 5];
    return word + char('p' + language);
  }
  std::unique_ptr<Task> task(Options options = {}, std::uint64_t seed = 1) const {
    options.insert({"path", path()});
    options.insert({"unknown", 0.0});
    return find_task("languages").make(options, seed);
  }
};

TEST(Languages, HasAsManySmallWordsOfEach) {
  const Lists lists;
  const auto found = words_of(*lists.task());
  ASSERT_EQ(found.size(), 7);
  std::set<std::string> from_the_files = {"été"};
  for (std::size_t l = 0; l < kNames.size(); ++l) {
    EXPECT_EQ(found.at(kNames[l]).size(), 200) << "as the shortest list has";
    for (int i = 0; i < 300; ++i) from_the_files.insert(lowercase(Lists::own(l, i)));
    for (const std::string& word : found.at(kNames[l])) {
      EXPECT_TRUE(from_the_files.contains(word)) << word << " of several lists, or no word";
    }
  }
  EXPECT_TRUE(found.at("dutch").contains("aeep")) << "written Aeep";
  for (const auto& [language, words] : words_of(*lists.task({{"words", 50}}))) {
    EXPECT_EQ(words.size(), 50) << language;
    for (const std::string& word : words) EXPECT_TRUE(found.at(language).contains(word)) << word;
  }
}

TEST(Languages, IsTheSameWithEverySeed) {
  const Lists lists;
  const auto one = lists.task({}, 1), two = lists.task({}, 2);
  for (const Split split : kSplits) {
    const auto a = one->dataset(split), b = two->dataset(split);
    ASSERT_EQ(a->size(), b->size());
    for (std::size_t i = 0; i < a->size(); ++i) EXPECT_EQ(a->get(0, i).ids, b->get(0, i).ids);
  }
  EXPECT_EQ(one->parse("AEIP").ids, two->parse("aeip").ids);
}

TEST(Languages, AListThatIsMissingOrDamagedIsAnError) {
  const Lists lists;
  const auto error_of = [&] { return test::message_of<DataError>([&] { lists.task()->shape(); }); };
  lists.write("italian", "perch\xe9\n");
  EXPECT_EQ(error_of(), lists / "italian" + ": byte 6 is not UTF-8");
  std::filesystem::remove(lists / "italian");
  EXPECT_EQ(error_of(), lists / "italian" +
                            ": there is no such file; install it with: apt-get install witalian");
  lists.write("italian", "both\n");
  EXPECT_EQ(error_of(), lists.path() + ": every word of one list is also in another list");
}

// Debian's lists; `./run test` installs them.
class RealLanguages : public testing::Test {
 protected:
  static void SetUpTestSuite() { task_ = find_task("languages").make({{"unknown", 0.0}}, 1); }
  static void TearDownTestSuite() { task_.reset(); }
  static std::unique_ptr<Task> task_;
};
std::unique_ptr<Task> RealLanguages::task_;

TEST_F(RealLanguages, HasFiftyThousandWordsOfEach) {
  const auto found = words_of(*task_);
  ASSERT_EQ(found.size(), 7);
  for (const auto& [language, words] : found) EXPECT_EQ(words.size(), 50000) << language;
  EXPECT_NEAR(double(task_->dataset(Split::test)->size()), 35000, 700);
  EXPECT_NEAR(double(task_->dataset(Split::validation)->size()), 35000, 700);
  // In one list each, and in several.
  const std::map<std::string, const char*> own = {{"english", "thoroughly"}, {"german", "fußball"}};
  for (const char* shared : {"hotel", "radio", "rose", "die"}) {
    for (const auto& [language, words] : found) EXPECT_FALSE(words.contains(shared)) << shared;
  }
  for (const auto& [language, word] : own) {
    for (const auto& [other, words] : found) {
      EXPECT_TRUE(other == language || !words.contains(word)) << word << " in " << other;
    }
  }
}

TEST_F(RealLanguages, TheConfigClaimsTwoPointsMoreThanNaiveBayes) {
  const std::vector<Rule> rules = task_->rules();
  ASSERT_EQ(rules.size(), 1);
  const std::string config = read_bytes(test::source_path("configs/languages.toml"));
  const std::size_t at = config.find("\naccuracy = ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_GE(std::stod(config.substr(at + 12)), rules[0].accuracy + 0.02);
  EXPECT_GT(rules[0].accuracy, 0.84) << "letters in their order tell more than most of it";
}

}  // namespace
}  // namespace xgrad

// WordNet: small files written here, and Debian's where they are installed.
#include <gtest/gtest.h>

#include <filesystem>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/rules/baseline.hpp>
#include <xgrad/data/task.hpp>

#include <support/temporary_directory.hpp>

namespace xgrad {
namespace {

const std::string kLicense = "  1 This software and database is being provided to you\n";

std::string sense(int number, int file, const std::string& gloss) {
  const std::string digits = std::to_string(100000000 + number).substr(1);
  return digits + (file < 10 ? " 0" : " ") + std::to_string(file) + " n 01 word 0 000 | " + gloss +
         "  \n";
}

struct Folder : test::TemporaryDirectory {
  Folder() {
    std::string nouns = kLicense;
    for (int i = 0; i < 200; ++i) {
      nouns += sense(i, i % 2 ? 5 : 13,
                     "A kind" + std::to_string(i) + " of " +
                         (i % 2 ? "Animal; \"she saw one\"" : "food's taste"));
    }
    write("data.noun", nouns);
    write("data.verb", kLicense + sense(1, 38, "move quickly"));
    write("data.adj", kLicense + sense(1, 0, "quick"));
    write("data.adv", kLicense + sense(1, 2, "in a quick way"));
  }
  std::unique_ptr<Task> task(Options options = {}) const {
    options.insert({"path", path()});
    return find_task("wordnet").make(options, 1);
  }
};

TEST(WordNet, ReadsDefinitionsInSmallLettersWithoutExamples) {
  const Folder folder;
  const auto of = folder.task();
  const TaskShape shape = of->shape();
  EXPECT_EQ(shape.class_names, (std::vector<std::string>{"noun.animal", "noun.food"}));
  EXPECT_EQ(shape.max_length, 40);
  EXPECT_EQ((std::vector<std::string>{shape.token_names.begin(), shape.token_names.begin() + 3}),
            (std::vector<std::string>{"<unk>", "a", "of"}));
  EXPECT_EQ(shape.vocabulary, 6) << "a of animal foods taste, and what comes once";
  EXPECT_EQ(of->dataset(Split::train)->size() + of->dataset(Split::validation)->size() +
                of->dataset(Split::test)->size(),
            200);
  const std::vector<Rule> rules = of->rules();
  ASSERT_EQ(rules.size(), 1);
  EXPECT_EQ(rules[0].accuracy, 1) << "one word decides";
}

TEST(WordNet, OfAllPartsOfSpeech) {
  const Folder folder;
  const auto of = folder.task({{"senses", "all"}});
  std::size_t rows = 0;
  try {
    for (Split split : {Split::train, Split::validation, Split::test})
      rows += of->dataset(split)->size();
    EXPECT_EQ(rows, 203);
  } catch (const DataError& error) {  // a class of one sense may fall to another split
    EXPECT_NE(std::string(error.what()).find("does not occur in the training rows"),
              std::string::npos);
  }
}

TEST(WordNet, DamagedFilesAreErrors) {
  const Folder folder;
  for (const char* line : {"00001740 45 n 01 entity 0 000 | beyond the classes\n",
                           "00001740 03 n 01 entity\n", "1740 03 n | short offset\n"}) {
    folder.write("data.noun", kLicense + line);
    try {
      folder.task()->shape();
      ADD_FAILURE() << line;
    } catch (const DataError& error) {
      EXPECT_EQ(std::string(error.what()),
                folder / "data.noun" +
                    ": line 2: is not a sense such as \"00001740 03 n ... | definition\"");
    }
  }
  std::filesystem::remove(folder / "data.noun");
  try {
    folder.task()->shape();
    FAIL();
  } catch (const DataError& error) {
    EXPECT_EQ(std::string(error.what()),
              folder / "data.noun" +
                  ": there is no such file; install it with: apt-get install wordnet-base");
  }
}

class FewExamples final : public Dataset {
 public:
  explicit FewExamples(std::vector<Example> examples) : examples_(std::move(examples)) {}
  std::size_t size() const override { return examples_.size(); }
  Example get(std::uint64_t, std::size_t i) const override { return examples_[i]; }

 private:
  std::vector<Example> examples_;
};

Example example(std::vector<std::int32_t> ids, std::vector<std::int32_t> targets) {
  Example result;
  result.ids = std::move(ids);
  result.targets = std::move(targets);
  return result;
}

TEST(Rules, AWindowBacksOffToWhatIsKnown) {
  const FewExamples train(
      {example({1, 2}, {7, 8}), example({3, 2}, {7, 9}), example({4, 2}, {7, 9})});
  const FewExamples known({example({1, 2}, {7, 8})}), fresh({example({5, 2}, {kIgnore, 9})});
  EXPECT_EQ(window_rule("", train, known, 0).accuracy, 0.5);
  EXPECT_EQ(window_rule("", train, known, 0).exact, 0);
  EXPECT_EQ(window_rule("", train, known, 1).exact, 1);
  EXPECT_EQ(window_rule("", train, fresh, 1).exact, 1) << "5 2 is not known, 2 is mostly 9";
}

TEST(RealWordNet, HasItsSensesAndClasses) {
  const auto of = find_task("wordnet").make({}, 1);
  const TaskShape shape = of->shape();
  EXPECT_EQ(shape.classes, 26);
  EXPECT_EQ(shape.class_names.front(), "noun.Tops");
  std::size_t rows = 0;
  for (Split split : {Split::train, Split::validation, Split::test})
    rows += of->dataset(split)->size();
  EXPECT_NEAR(double(rows), 82115, 15) << "wnstats(7WN), less what is an example alone";
  EXPECT_EQ(find_task("wordnet").make({{"senses", "all"}}, 1)->shape().classes, 45);
  const double bayes = of->rules().at(0).accuracy;
  EXPECT_GT(bayes, 0.7);
  EXPECT_LT(bayes, 0.8);
}

}  // namespace
}  // namespace xgrad

// Naive Bayes of n-grams, held against counts and formula written out.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <set>

#include <xgrad/autograd/random.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/rules/naive_bayes.hpp>
#include <xgrad/data/rules/rules.hpp>

#include <support/temporary_directory.hpp>

namespace xgrad {
namespace {

using Examples = std::vector<Example>;

class Listed final : public Dataset {
 public:
  explicit Listed(Examples examples) : examples_(std::move(examples)) {}
  std::size_t size() const override { return examples_.size(); }
  Example get(std::uint64_t, std::size_t i) const override { return examples_[i]; }

 private:
  Examples examples_;
};

class Fixed final : public Task {
 public:
  Fixed(TaskShape shape, Examples train, Examples validation, Examples test)
      : shape_(std::move(shape)),
        splits_{std::move(train), std::move(validation), std::move(test)} {}
  TaskShape shape() const override { return shape_; }
  std::unique_ptr<Dataset> dataset(Split split) const override {
    return std::make_unique<Listed>(splits_[std::size_t(split)]);
  }
  Example parse(const std::string&) const override { return {}; }

 private:
  TaskShape shape_;
  std::array<Examples, 3> splits_;
};

TaskShape shape_of(std::size_t classes, TargetKind target = TargetKind::classes) {
  return {.output = OutputKind::sequence,
          .vocabulary = 4,
          .max_length = 6,
          .classes = classes,
          .target = target};
}

// Token `c` comes more often in class c, and pairs tell more than tokens.
Examples drawn(const char* name, std::size_t count, std::size_t classes) {
  Examples examples(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Rng rng = Rng(7) / name / i;
    const auto c = rng.below(classes, 0);
    examples[i].targets = {std::int32_t(c)};
    const std::size_t length = 1 + rng.below(6, 1);
    for (std::size_t k = 0; k < length; ++k) {
      const bool own = rng.uniform(10 + k) < 0.3;
      examples[i].ids.push_back(std::int32_t(own ? c : rng.below(4, 20 + k)));
    }
  }
  return examples;
}

using Gram = std::vector<std::int32_t>;

std::vector<Gram> grams(const Example& example, std::size_t longest) {
  std::vector<Gram> all;
  for (auto begin = example.ids.begin(); begin != example.ids.end(); ++begin) {
    for (auto end = begin; end != example.ids.end() && end < begin + std::ptrdiff_t(longest);) {
      all.emplace_back(begin, ++end);
    }
  }
  return all;
}

// The formula, term by term; log-probabilities of each class.
std::vector<double> posterior(const Examples& train, const Example& example, std::size_t classes,
                              std::size_t longest, double a) {
  std::map<Gram, std::vector<double>> counts;
  std::vector<double> total(classes), prior(classes), score(classes);
  for (const Example& row : train) {
    const auto c = std::size_t(row.targets[0]);
    prior[c] += 1.0 / double(train.size());
    for (const Gram& gram : grams(row, longest)) {
      counts.try_emplace(gram, classes).first->second[c] += 1;
      total[c] += 1;
    }
  }
  for (std::size_t c = 0; c < classes; ++c) {
    score[c] = std::log(prior[c]);
    for (const Gram& gram : grams(example, longest)) {
      if (!counts.contains(gram)) continue;
      score[c] += std::log((counts[gram][c] + a) / (total[c] + a * double(counts.size())));
    }
  }
  return score;
}

std::int32_t best(const std::vector<double>& score) {
  return std::int32_t(std::max_element(score.begin(), score.end()) - score.begin());
}

TEST(NaiveBayes, IsTheFormula) {
  const Examples train = drawn("train", 60, 3), test = drawn("test", 300, 3);
  for (const std::size_t longest : {1, 2, 4}) {
    const NaiveBayes bayes(Listed(train), shape_of(3), longest);
    for (const double a : {1.0, 0.01}) {
      std::set<std::int32_t> said;
      for (const Example& example : test) {
        std::vector<double> score = posterior(train, example, 3, longest, a);
        const std::int32_t expected = best(score);
        said.insert(expected);
        std::sort(score.begin(), score.end());
        if (score[2] - score[1] < 1e-9) continue;  // as likely, but for rounding
        EXPECT_EQ(bayes.guess(example, a), std::vector{expected}) << longest << " " << a;
      }
      EXPECT_EQ(said.size(), 3);
    }
  }
}

// Each answer is a problem of two classes of its own, over the rows that have it.
TEST(NaiveBayes, TellsEachOfManyAnswersByItself) {
  Examples train = drawn("train", 80, 2), test = drawn("test", 100, 2);
  std::array<Examples, 2> alone;  // the rows of each answer, as classes
  for (std::size_t i = 0; i < train.size(); ++i) {
    const float first = float(train[i].targets[0]), second = float(train[i].ids.size() > 3);
    for (std::size_t k = 0; k < 2; ++k) {
      if (k == 1 && i % 5 == 0) continue;
      alone[k].push_back({.ids = train[i].ids, .targets = {std::int32_t(k == 0 ? first : second)}});
    }
    train[i].values = {first, i % 5 == 0 ? std::nanf("") : second};
    train[i].targets.clear();
  }
  const NaiveBayes bayes(Listed(train), shape_of(2, TargetKind::binary), 2);
  std::array<std::set<std::int32_t>, 2> said;
  for (const Example& example : test) {
    const std::vector<std::int32_t> guess = bayes.guess(example, 0.1);
    ASSERT_EQ(guess.size(), 2);
    for (std::size_t k = 0; k < 2; ++k) {
      // The number of different n-grams counts all rows, which the second answer sees part of;
      // these rows have every n-gram of two tokens there is.
      EXPECT_EQ(guess[k], best(posterior(alone[k], example, 2, 2, 0.1))) << k;
      said[k].insert(guess[k]);
    }
  }
  EXPECT_EQ(said[0].size() + said[1].size(), 4);
}

TEST(NaiveBayes, CountsNoMoreThanItIsAllowedTo) {
  const Examples train = {
      {.ids = {1}, .targets = {0}}, {.ids = {1}, .targets = {1}}, {.ids = {1}, .targets = {1}}};
  const Example one = {.ids = {1}};
  EXPECT_EQ(NaiveBayes(Listed(train), shape_of(2), 1).guess(one, 1), std::vector{1});
  EXPECT_EQ(NaiveBayes(Listed(train), shape_of(2), 1, 1).guess(one, 1), std::vector{0});
}

// Worked by hand. Class 0 has tokens 0 0 1, class 1 has 1; priors 2/3 and 1/3. Of token 1: with 1
// added 2/3 * 2/5 = 0.27 against 1/3 * 2/3 = 0.22, so class 0; with 0.01 added 2/3 * 0.335 = 0.22
// against 1/3 * 0.99 = 0.33, so class 1.
TEST(Rules, NaiveBayesTakesTheSmoothingThatIsBestOnTheValidationSplit) {
  const Examples train = {
      {.ids = {0, 0}, .targets = {0}}, {.ids = {1}, .targets = {0}}, {.ids = {1}, .targets = {1}}};
  const Example zero = {.ids = {1}, .targets = {0}}, one = {.ids = {1}, .targets = {1}};
  const auto rule = [&](const Example& validation, const Example& test) {
    return naive_bayes(Fixed(shape_of(2), train, {validation}, {test}), 1);
  };
  EXPECT_EQ(rule(zero, zero).accuracy, 1);
  EXPECT_EQ(rule(one, one).accuracy, 1);
  EXPECT_EQ(rule(zero, one).accuracy, 0) << "the test split has no say";
  EXPECT_EQ(rule(one, zero).accuracy, 0);
  EXPECT_EQ(rule(one, one).name, "naive Bayes of tokens");
}

// A user's file, from its text to the rule. The order of two letters, or of two words, decides.
TEST(Rules, EveryTextWithLabelsIsHeldAgainstNaiveBayesOfItsNGrams) {
  const test::TemporaryDirectory folder;
  std::string letters = "text\tlabel\n", words = letters, many = letters;
  for (int i = 0; i < 400; ++i) {
    const std::string number = std::to_string(i), label = i % 2 ? "\tone\n" : "\ttwo\n";
    letters += number + (i % 2 ? "ab" : "ba") + number + label;
    words += number + (i % 2 ? " a b " : " b a ") + number + label;
    many += number + (i % 2 ? " a b\tx" : " b a\tx") + (i % 3 ? " y\n" : "\n");
  }
  const auto rules = [&](const std::string& text, Options options) {
    folder.write("rows.tsv", text);
    options.insert({"train", folder / "rows.tsv"});
    return find_task("files").make(options, 1)->rules();
  };
  const Rule of_letters = rules(letters, {{"tokens", "characters"}}).at(0);
  EXPECT_EQ(of_letters.name, "naive Bayes of 1- to 4-grams");
  EXPECT_EQ(of_letters.accuracy, 1);
  const Rule of_words = rules(words, {}).at(0);
  EXPECT_EQ(of_words.name, "naive Bayes of 1- to 2-grams");
  EXPECT_EQ(of_words.accuracy, 1);
  const Rule of_many = rules(many, {{"labels", "multi_label"}}).at(0);
  EXPECT_GT(of_many.accuracy, 0.75) << "x is always true, y for two of three";
  EXPECT_LT(of_many.accuracy, 0.9);
  EXPECT_LT(of_many.exact, of_many.accuracy);
  EXPECT_TRUE(rules(words, {{"labels", "masked"}}).empty());
}

}  // namespace
}  // namespace xgrad

// Naive Bayes of n-grams, held against counts and formula written out.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <xgrad/autograd/random.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/rules/ngram.hpp>
#include <xgrad/data/watch_progress.hpp>

#include <support/temporary_directory.hpp>

#include "data/rules/listed_task.hpp"

namespace xgrad {
namespace {

using test::Examples;
using test::ListedDataset;
using test::ListedTask;

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
    const NaiveBayes bayes(ListedDataset(train), shape_of(3), longest);
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
  const NaiveBayes bayes(ListedDataset(train), shape_of(2, TargetKind::binary), 2);
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

/// The rows of `train` in the order in which they are counted, up to the limits: the plain count.
Examples counted_rows(const Examples& train, std::size_t longest, std::size_t counted,
                      std::size_t different) {
  std::set<Gram> all;
  std::set<std::pair<Gram, std::int32_t>> pairs;
  Examples rows;
  std::size_t count = 0;
  for (const std::size_t i : Rng(0).permutation(train.size())) {
    for (const Gram& gram : grams(train[i], longest)) {
      if (count == counted || all.size() == different || pairs.size() == different) return rows;
      all.insert(gram);
      pairs.emplace(gram, train[i].targets[0]);
      ++count;
    }
    rows.push_back(train[i]);
  }
  return rows;
}

TEST(NaiveBayes, CountsNoMoreThanItIsAllowedTo) {
  const Examples train = drawn("train", 200, 3), test = drawn("test", 100, 3);
  const std::size_t all = std::size_t(1) << 24;
  for (const auto& [counted, different] :
       {std::pair(all, all), {std::size_t(300), all}, {all, std::size_t(40)}, {all, all / 2}}) {
    // The rows that are counted to their end, and then alone.
    const Examples rows = counted_rows(train, 2, counted, different);
    const NaiveBayes cut(ListedDataset(train), shape_of(3), 2, {counted, different});
    EXPECT_EQ(cut.rows(), rows.size()) << counted << " " << different;
    EXPECT_EQ(cut.rows() < train.size(), counted == 300 || different == 40);
    std::size_t grams_of_rows = 0;
    for (const Example& row : rows) grams_of_rows += grams(row, 2).size();
    if (different == all) {  // to the end of a row
      const NaiveBayes exact(ListedDataset(train), shape_of(3), 2, {grams_of_rows, all});
      EXPECT_EQ(exact.rows(), rows.size());
      for (const Example& example : test) {
        std::vector<double> score = posterior(rows, example, 3, 2, 0.1);
        const std::int32_t expected = best(score);
        std::sort(score.begin(), score.end());
        if (score[2] - score[1] < 1e-9) continue;
        EXPECT_EQ(exact.guess(example, 0.1), std::vector{expected});
      }
    }
  }
}

/// The rows, such that they are counted in this order.
Examples in_order(const Examples& rows) {
  Examples placed(rows.size());
  const auto order = Rng(0).permutation(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) placed[order[i]] = rows[i];
  return placed;
}

// A row may have any number of n-grams. Of the second here 3 is left out, so that the classes are
// as likely.
TEST(NaiveBayes, CountsNoMoreOfARowThanItIsAllowedTo) {
  const Examples train =
      in_order({{.ids = {1}, .targets = {0}}, {.ids = {2, 2, 3, 3}, .targets = {1}}});
  const Example three = {.ids = {3}};
  for (const auto& [limits, guess] : {std::pair(GramLimits{}, 1),
                                      {GramLimits{5, 100}, 1},
                                      {GramLimits{3, 100}, 0},
                                      {GramLimits{100, 2}, 0}}) {
    const NaiveBayes bayes(ListedDataset(train), shape_of(2), 1, limits);
    EXPECT_EQ(bayes.guess(three, 1), std::vector{guess}) << limits.counted;
    EXPECT_EQ(bayes.rows(), guess == 1 ? 2 : 1);
  }
}

// Nor of the answers of one n-gram. Yes has (1 + 0.5) / (1 + 2) = 0.5 of token 1 where it is
// counted and 1 / 4 where not; no has 3 times 0.5 / 5 = 0.3.
TEST(NaiveBayes, CountsNoMoreAnswersThanItIsAllowedTo) {
  const std::vector<float> no(5, 0), yes(5, 1);
  const Examples train = in_order({{.ids = {7}, .values = no},
                                   {.ids = {8}, .values = no},
                                   {.ids = {9}, .values = no},
                                   {.ids = {1}, .values = yes}});
  const Example one = {.ids = {1}};
  const TaskShape shape = shape_of(5, TargetKind::binary);
  EXPECT_EQ(NaiveBayes(ListedDataset(train), shape, 1).guess(one, 0.5), std::vector(5, 1));
  const NaiveBayes cut(ListedDataset(train), shape, 1, {100, 3 * 5 + 2});
  EXPECT_EQ(cut.guess(one, 0.5), (std::vector{1, 1, 0, 0, 0}));
  EXPECT_EQ(cut.rows(), 3);
}

// Worked by hand. Class 0 has tokens 0 0 1, class 1 has 1; priors 2/3 and 1/3. Of token 1: with 1
// added 2/3 * 2/5 = 0.27 against 1/3 * 2/3 = 0.22, so class 0; with 0.01 added 2/3 * 0.335 = 0.22
// against 1/3 * 0.99 = 0.33, so class 1.
TEST(Rules, NaiveBayesTakesTheSmoothingThatIsBestOnTheValidationSplit) {
  const Examples train = {
      {.ids = {0, 0}, .targets = {0}}, {.ids = {1}, .targets = {0}}, {.ids = {1}, .targets = {1}}};
  const Example zero = {.ids = {1}, .targets = {0}}, one = {.ids = {1}, .targets = {1}};
  const auto rule = [&](const Example& validation, const Example& test) {
    return naive_bayes(ListedTask(shape_of(2), train, {validation}, {test}), 1);
  };
  EXPECT_EQ(rule(zero, zero).accuracy, 1);
  EXPECT_EQ(rule(one, one).accuracy, 1);
  EXPECT_EQ(rule(zero, one).accuracy, 0) << "the test split has no say";
  EXPECT_EQ(rule(one, zero).accuracy, 0);
  EXPECT_EQ(rule(one, one).name, "naive Bayes of tokens");
}

TEST(Rules, NaiveBayesThatIsCutSaysSo) {
  const ListedTask task(shape_of(3), drawn("train", 50, 3), drawn("valid", 9, 3),
                        drawn("test", 8, 3));
  std::vector<std::size_t> told;
  const WatchProgress watch([&](const std::string& rule, std::uint64_t done, std::uint64_t rows) {
    EXPECT_EQ(rule, "naive Bayes of 1- to 2-grams");
    EXPECT_EQ(rows, 50 + 4 * 9 + 8);
    told.push_back(done);
  });
  EXPECT_EQ(naive_bayes(task, 2).name, "naive Bayes of 1- to 2-grams");
  std::vector<std::size_t> expected(50 + 4 * 9 + 8);
  std::iota(expected.begin(), expected.end(), 1);
  EXPECT_EQ(told, expected);
  const Rule cut = naive_bayes(task, 2, {30, 1000});
  const std::size_t rows = counted_rows(drawn("train", 50, 3), 2, 30, 1000).size();
  EXPECT_EQ(cut.name,
            "naive Bayes of 1- to 2-grams, counted in " + std::to_string(rows) + " of 50 rows");
  EXPECT_EQ(told.back(), expected.size());
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

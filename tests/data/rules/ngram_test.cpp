// Interpolated n-grams, held against numbers computed by hand and against the formula, written out.
#include <xgrad/data/rules/ngram.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include <xgrad/autograd/random.hpp>

#include "data/rules/listed_task.hpp"

namespace xgrad {
namespace {

using test::Examples;
using test::ListedDataset;

using Tokens = std::vector<std::int32_t>;

// An example of a text: kEnd, its tokens, kEnd.
Example of_text(const Tokens& text) {
  Example example{.ids = {kEndId}, .targets = text};
  example.ids.insert(example.ids.end(), text.begin(), text.end());
  example.targets.push_back(kEndId);
  return example;
}

std::vector<double> probabilities(const NGram& model, const Example& example, std::size_t place,
                                  std::size_t order) {
  std::vector<double> result;
  model.for_each_order(example, place, [&](std::size_t n, const std::vector<double>& p) {
    if (n == order) result = p;
  });
  return result;
}

// The texts "a a b" and "a b" with a = 2 and b = 3, and four classes. 1-grams: a 3, b 2, end 2, so
// P(a) = (3 + 3/4) / (7 + 3). After a: a once, b twice, so P(a | a) = (1 + 2 P(a)) / (3 + 2). After
// "a a": b once, so P(b | a a) = (1 + P(b | a)) / 2.
TEST(NGram, IsTheFormulaOfWittenAndBell) {
  const NGram model(ListedDataset({of_text({2, 2, 3}), of_text({2, 3})}), 4, 3);
  const Example seen = of_text({2, 2, 3});
  const double a = (3 + 3 / 4.0) / 10, b = (2 + 3 / 4.0) / 10, unknown = 3 / 4.0 / 10;
  EXPECT_NEAR(probabilities(model, seen, 2, 1)[2], a, 1e-15);
  EXPECT_NEAR(probabilities(model, seen, 2, 1)[0], unknown, 1e-15);
  EXPECT_NEAR(probabilities(model, seen, 2, 2)[2], (1 + 2 * a) / 5, 1e-15);
  const double b_after_a = (2 + 2 * b) / 5;
  EXPECT_NEAR(probabilities(model, seen, 2, 2)[3], b_after_a, 1e-15);
  EXPECT_NEAR(probabilities(model, seen, 2, 3)[3], (1 + b_after_a) / 2, 1e-15);
  // b b was never seen, so that only the last b counts: only the end follows it.
  const Example other = of_text({3, 3});
  EXPECT_EQ(probabilities(model, other, 2, 3), probabilities(model, other, 2, 2));
  EXPECT_NEAR(probabilities(model, other, 2, 2)[1], (2 + b) / 3, 1e-15);
  // At the beginning of a text there is only kEnd before.
  EXPECT_EQ(probabilities(model, seen, 0, 3), probabilities(model, seen, 0, 2));
}

// P(token | context) of Witten and Bell by recursion over maps.
struct Reference {
  Reference(const Examples& examples, std::size_t classes, std::size_t longest) : classes(classes) {
    for (const Example& example : examples) {
      for (std::size_t i = 0; i < example.ids.size(); ++i) {
        for (std::size_t k = 0; k < longest && k <= i + 1; ++k) {
          ++follows[Tokens(example.ids.begin() + std::ptrdiff_t(i + 1 - k),
                           example.ids.begin() + std::ptrdiff_t(i + 1))][example.targets[i]];
        }
      }
    }
  }

  static Tokens without_first(Tokens context) {
    context.erase(context.begin());
    return context;
  }

  double operator()(const Tokens& context, std::int32_t token) const {
    const double shorter =
        context.empty() ? 1 / double(classes) : (*this)(without_first(context), token);
    const auto found = follows.find(context);
    if (found == follows.end()) return shorter;
    double count = 0, total = 0;
    for (const auto& [next, n] : found->second) {
      total += n;
      if (next == token) count = n;
    }
    const double different = double(found->second.size());
    return (count + different * shorter) / (total + different);
  }

  std::size_t classes;
  std::map<Tokens, std::map<std::int32_t, double>> follows;
};

Examples drawn(const char* name, std::size_t count) {
  Examples examples;
  for (std::size_t i = 0; i < count; ++i) {
    const Rng rng = Rng(5) / name / i;
    Tokens text;
    for (std::size_t k = 0; k < 1 + rng.below(12, 0); ++k) {
      const bool again = k >= 2 && rng.uniform(100 + k) < 0.6;  // often what came two before
      text.push_back(again ? text[k - 2] : 2 + std::int32_t(rng.below(5, 200 + k)));
    }
    examples.push_back(of_text(text));
  }
  return examples;
}

TEST(NGram, AgreesWithTheRecursionAndSumsToOne) {
  constexpr std::size_t kClasses = 7;
  const Examples train = drawn("train", 60), test = drawn("test", 20);
  const NGram model(ListedDataset(train), kClasses, 4);
  EXPECT_EQ(model.rows(), train.size());
  for (std::size_t order = 1; order <= 4; ++order) {
    const Reference reference(train, kClasses, order);
    for (const Example& example : test) {
      for (std::size_t i = 0; i < example.ids.size(); ++i) {
        const std::size_t begin = i + 1 >= order - 1 ? i + 1 - (order - 1) : 0;
        const Tokens context(example.ids.begin() + std::ptrdiff_t(begin),
                             example.ids.begin() + std::ptrdiff_t(i + 1));
        const std::vector<double> p = probabilities(model, example, i, order);
        double sum = 0;
        for (std::int32_t token = 0; token < std::int32_t(kClasses); ++token) {
          EXPECT_NEAR(p[std::size_t(token)], reference(context, token), 1e-14);
          sum += p[std::size_t(token)];
        }
        EXPECT_NEAR(sum, 1, 1e-12);
      }
    }
  }
}

TEST(NGram, TheLengthIsTheBestOnTheValidationSplit) {
  const Examples train = drawn("train", 400), validation = drawn("validation", 60),
                 test = drawn("test", 60);
  const TaskShape shape{
      .vocabulary = 7, .max_length = 13, .classes = 7, .next = NextToken::character};
  const test::ListedTask task(shape, train, validation, test);
  const auto loss = [&](const Examples& examples, std::size_t order) {
    const Reference reference(train, 7, order);
    double sum = 0, targets = 0;
    for (const Example& example : examples) {
      for (std::size_t i = 0; i < example.ids.size(); ++i) {
        const std::size_t begin = i + 1 >= order - 1 ? i + 1 - (order - 1) : 0;
        sum -= std::log(reference(Tokens(example.ids.begin() + std::ptrdiff_t(begin),
                                         example.ids.begin() + std::ptrdiff_t(i + 1)),
                                  example.targets[i]));
        targets += 1;
      }
    }
    return sum / targets;
  };
  std::size_t best = 1;
  for (std::size_t order = 2; order <= 5; ++order) {
    if (loss(validation, order) < loss(validation, best)) best = order;
  }
  EXPECT_GT(best, 1u);
  const Rule rule = ngram_rule(task, 5);
  EXPECT_EQ(rule.name, "interpolated 1- to " + std::to_string(best) + "-grams");
  ASSERT_TRUE(rule.loss.has_value());
  EXPECT_NEAR(*rule.loss, loss(test, best), 1e-12);
  EXPECT_GT(rule.accuracy, 0.3);
  const Rule stopped = ngram_rule(task, 5, {.counted = 500});
  EXPECT_NE(stopped.name.find(", counted in "), std::string::npos) << stopped.name;
  EXPECT_GT(*stopped.loss, *rule.loss);
  EXPECT_EQ(loss_text({"", 0, 0, std::log(2.0)}), ", loss 0.6931 (1.0000 bits)");
  EXPECT_EQ(loss_text({"", 0, 0}), "");
}

}  // namespace
}  // namespace xgrad

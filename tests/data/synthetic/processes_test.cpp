// Probabilities of hidden states, against sums over all paths.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/rules/baseline.hpp>
#include <xgrad/data/synthetic/processes.hpp>

namespace xgrad {
namespace {

using Rows = std::vector<std::vector<double>>;

/// p(state t | evidence) as a sum over all paths; evidence[t][state] is its likelihood.
Rows over_all_paths(const std::vector<double>& start, const Rows& step, const Rows& evidence) {
  const std::size_t k = start.size(), n = evidence.size();
  Rows posterior(n, std::vector<double>(k));
  double total = 0;
  for (std::size_t path = 0; path < std::size_t(std::pow(k, n)); ++path) {
    std::vector<std::size_t> states;
    for (std::size_t t = 0, rest = path; t < n; ++t, rest /= k) states.push_back(rest % k);
    double p = start[states[0]];
    for (std::size_t t = 0; t < n; ++t) {
      p *= evidence[t][states[t]] * (t == 0 ? 1 : step[states[t - 1]][states[t]]);
    }
    for (std::size_t t = 0; t < n; ++t) posterior[t][states[t]] += p;
    total += p;
  }
  for (auto& row : posterior) {
    for (double& p : row) p /= total;
  }
  return posterior;
}

Rows rows_of(const std::vector<double>& flat, std::size_t width) {
  Rows rows;
  for (std::size_t i = 0; i < flat.size(); i += width) {
    rows.emplace_back(flat.begin() + std::ptrdiff_t(i), flat.begin() + std::ptrdiff_t(i + width));
  }
  return rows;
}

TEST(Chain, SmoothingIsASumOverAllPaths) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Chain chain = random_chain(Rng(seed), 3, 2);
    std::vector<double> likelihood;
    for (std::size_t i = 0; i < 6 * 3; ++i) likelihood.push_back((Rng(seed) / "l").uniform(i));
    likelihood[4] = likelihood[9] = 0;  // impossible states
    const auto posterior = smooth(chain, likelihood);
    const Rows expected = over_all_paths(std::vector<double>(3, 1.0 / 3),
                                         rows_of(chain.transition, 3), rows_of(likelihood, 3));
    for (std::size_t i = 0; i < posterior.size(); ++i) {
      EXPECT_NEAR(posterior[i], expected[i / 3][i % 3], 1e-13) << seed << " " << i;
    }
  }
}

TEST(Chain, LongSequencesDoNotUnderflow) {
  const Chain chain = random_chain(Rng(1), 4, 2);
  for (double p : smooth(chain, std::vector<double>(4 * 5000, 1e-3))) ASSERT_TRUE(p > 0 && p < 1);
}

TEST(Chain, WalksAsItsTransitionsSay) {
  const Chain chain = random_chain(Rng(3), 4, 1);
  std::map<std::pair<std::int32_t, std::int32_t>, double> steps;
  std::map<std::int32_t, double> from, first;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const Tokens path = walk(chain, Rng(5) / i, 20);
    first[path[0]] += 1;
    for (std::size_t t = 1; t < path.size(); ++t) {
      ++steps[{path[t - 1], path[t]}];
      ++from[path[t - 1]];
    }
  }
  for (std::int32_t a = 0; a < 4; ++a) {
    EXPECT_NEAR(first[a], 1000, 5 * 27.4);
    double sum = 0;
    for (std::int32_t b = 0; b < 4; ++b) {
      const double p = chain.transition[std::size_t(4 * a + b)], seen = steps[{a, b}] / from[a];
      EXPECT_NEAR(seen, p, 5 * std::sqrt(p * (1 - p) / from[a])) << a << " to " << b;
      sum += p;
    }
    EXPECT_NEAR(sum, 1, 1e-14);
  }
}

TEST(Chain, ChoosesByTheDistribution) {
  const double p[] = {0.25, 0, 0.5, 0.25};
  EXPECT_EQ(choose(p, 4, 0), 0);
  EXPECT_EQ(choose(p, 4, 0.2499), 0);
  EXPECT_EQ(choose(p, 4, 0.25), 2);
  EXPECT_EQ(choose(p, 4, 0.7499), 2);
  EXPECT_EQ(choose(p, 4, 0.75), 3);
  EXPECT_EQ(choose(p, 4, std::nextafter(1, 0)), 3);
}

// The ceilings of hmm and markov, against a guesser that counts transitions and emissions in the
// training split and sums over all paths: it comes as near to the ceiling as its counts are exact.
class Ceilings : public testing::TestWithParam<const char*> {};

TEST_P(Ceilings, AreWhatTheBestGuesserReaches) {
  const bool hidden = std::string(GetParam()) == "hmm";
  Options options = {{"length", 6}, {"states", 3}, {"examples", 60000}, {"test", 3000}};
  if (hidden) options["symbols"] = std::int64_t(5);
  const auto task = find_task(GetParam()).make(options, 1);
  const std::size_t k = 3, symbols = task->shape().vocabulary;

  Rows step(k, std::vector<double>(k)), emission(k, std::vector<double>(symbols));
  std::vector<double> start(k);
  const auto train = task->dataset(Split::train);
  const auto states_of = [&](const Example& example) {
    Tokens states = example.targets;
    for (std::size_t t = 0; t < states.size(); ++t) {
      if (states[t] == kIgnore) states[t] = example.ids[t];
    }
    return states;
  };
  const auto normalise = [](std::vector<double>& row) {
    double sum = 0;
    for (double x : row) sum += x;
    for (double& x : row) x /= sum;
  };
  for (std::size_t i = 0; i < train->size(); ++i) {
    const Example example = train->get(0, i);
    const Tokens states = states_of(example);
    start[std::size_t(states[0])] += 1;
    for (std::size_t t = 0; t < states.size(); ++t) {
      emission[std::size_t(states[t])][std::size_t(example.ids[t])] += 1;
      if (t > 0) step[std::size_t(states[t - 1])][std::size_t(states[t])] += 1;
    }
  }
  normalise(start);
  for (auto* rows : {&step, &emission}) {
    for (auto& row : *rows) normalise(row);
  }

  double right = 0, loss = 0, targets = 0;
  const auto test = task->dataset(Split::test);
  for (std::size_t i = 0; i < test->size(); ++i) {
    const Example example = test->get(0, i);
    Rows evidence(example.ids.size(), std::vector<double>(k));
    for (std::size_t t = 0; t < evidence.size(); ++t) {
      for (std::size_t s = 0; s < k; ++s) evidence[t][s] = emission[s][std::size_t(example.ids[t])];
    }
    const Rows posterior = over_all_paths(start, step, evidence);
    for (std::size_t t = 0; t < posterior.size(); ++t) {
      if (example.targets[t] == kIgnore) continue;
      const auto& row = posterior[t];
      const auto best = std::max_element(row.begin(), row.end()) - row.begin();
      right += best == example.targets[t];
      loss -= std::log(row[std::size_t(example.targets[t])]);
      targets += 1;
    }
  }
  const auto ceiling = task->ceiling(Split::test);
  ASSERT_TRUE(ceiling.has_value());
  const double error = std::sqrt(ceiling->accuracy * (1 - ceiling->accuracy) / targets);
  EXPECT_NEAR(right / targets, ceiling->accuracy, 4 * error);
  EXPECT_NEAR(loss / targets, ceiling->loss, 0.05 * ceiling->loss);
  EXPECT_LT(ceiling->accuracy, 0.95);
  EXPECT_GT(ceiling->loss, 0.1);
}

INSTANTIATE_TEST_SUITE_P(All, Ceilings, testing::Values("hmm", "markov"),
                         [](const auto& row) { return std::string(row.param); });

// Against the states that stand behind each symbol in training, and a guesser that counts them. In
// short sequences the uniform start matters; in still shorter ones the few inputs of a split would.
TEST(Hmm, TheCeilingOfATokenAloneIsWhatCountingReaches) {
  const auto task = find_task("hmm").make(
      {{"length", 7}, {"min_length", 5}, {"examples", 20000}, {"test", 4000}}, 1);
  Rows counts(8, std::vector<double>(4));
  std::vector<double> total(8);
  const auto train = task->dataset(Split::train), test = task->dataset(Split::test);
  const auto for_each_token = [](const Dataset& split, const auto& f) {
    for (std::size_t i = 0; i < split.size(); ++i) {
      const Example example = split.get(0, i);
      for (std::size_t t = 0; t < example.ids.size(); ++t) {
        f(std::size_t(example.ids[t]), std::size_t(example.targets[t]));
      }
    }
  };
  for_each_token(*train, [&](std::size_t symbol, std::size_t state) {
    counts[symbol][state] += 1;
    total[symbol] += 1;
  });
  double loss = 0, targets = 0;
  for_each_token(*test, [&](std::size_t symbol, std::size_t state) {
    loss -= std::log(counts[symbol][state] / total[symbol]);
    targets += 1;
  });
  const Ceiling alone = task->token_ceiling().value();
  const double error = std::sqrt(alone.accuracy * (1 - alone.accuracy) / targets);
  EXPECT_NEAR(measure_baseline(*task).own_token.value(), alone.accuracy, 4 * error);
  EXPECT_NEAR(loss / targets, alone.loss, 0.03 * alone.loss);
  EXPECT_LT(alone.accuracy + 0.02, task->ceiling(Split::test).value().accuracy);
}

TEST(CeilingsTable, OnlyWhereAnInputDoesNotFixTheAnswer) {
  const std::set<std::string> with_ceiling = {
      "anomaly", "ar2", "hmm", "linear_regression", "markov", "mean_of_marked", "next_value"};
  for (const TaskEntry& entry : tasks()) {
    if (!entry.debian_packages.empty() || entry.name == "one_digit") continue;
    const bool is_known = entry.make({}, 1)->ceiling(Split::test).has_value();
    EXPECT_EQ(is_known, with_ceiling.contains(entry.name)) << entry.name;
    if (entry.name != "files") {
      EXPECT_EQ(entry.best, is_known ? kComputed : kCertain) << entry.name;
    }
    EXPECT_EQ(entry.make({}, 1)->token_ceiling().has_value(), entry.name == "hmm") << entry.name;
  }
}

// The targets are the hidden tokens, and at least one token is hidden.
TEST(Markov, AsksForTheHiddenTokens) {
  const auto dataset =
      find_task("markov").make({{"masked", 0.02}, {"length", 10}}, 1)->dataset(Split::train);
  double hidden = 0;
  for (std::size_t i = 0; i < 5000; ++i) {
    const Example example = dataset->get(0, i);
    int count = 0;
    for (std::size_t t = 0; t < 10; ++t) {
      ASSERT_EQ(example.ids[t] == 8, example.targets[t] != kIgnore);
      count += example.ids[t] == 8;
    }
    ASSERT_GE(count, 1);
    hidden += count;
  }
  // 10 x 0.02 and one where that gave none: 0.2 + 0.98^10.
  EXPECT_NEAR(hidden / 5000, 0.2 + std::pow(0.98, 10), 0.02);
}

}  // namespace
}  // namespace xgrad

// Synthetic tasks draw every input with the probability that they declare. The tasks are so small
// here that a test lists all inputs with their probabilities, for each split separately.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include <xgrad/data/synthetic/processes.hpp>

#include "data/synthetic/laws.hpp"

namespace xgrad {
namespace {

using namespace test;

// Every length is equally likely, and every sequence of a length.
class UniformLaw : public testing::TestWithParam<const char*> {};

TEST_P(UniformLaw, OfLengthsAndTokens) {
  const std::string name = GetParam();
  const bool bits = name == "even_pairs" || name == "majority" || name == "parity";
  const bool steps = name == "cycle_navigation";
  const std::int32_t symbols = bits ? 2 : steps ? 3 : 5;
  const std::size_t longest = bits ? 10 : steps ? 7 : 5;
  Options options = {{"length", std::int64_t(longest)}, {"min_length", std::int64_t(longest - 2)}};
  if (!bits && !steps) options["symbols"] = std::int64_t(symbols);
  if (name == "kth_element") options["k"] = std::int64_t(2);
  Law law;
  for (std::size_t length = longest - 2; length <= longest; ++length) {
    const double p = std::pow(symbols, -double(length));
    each_sequence(length, symbols, [&](const Tokens& ids) { law[ids] = p; });
  }
  expect_law(name, options, law);
}

INSTANTIATE_TEST_SUITE_P(All, UniformLaw,
                         testing::Values("bucket_sort", "copy", "cycle_navigation", "distinct",
                                         "double_histogram", "even_pairs", "first", "histogram",
                                         "kth_element", "majority", "most_frequent", "odds_first",
                                         "parity", "reverse", "rotate", "sort",
                                         "sort_by_frequency"),
                         [](const auto& task) { return std::string(task.param); });

TEST(Laws, SparseParityIsUniform) {
  Law law;
  each_sequence(11, 2, [&](const Tokens& ids) { law[ids] = 1; });
  expect_law("sparse_parity", {{"length", 11}}, law);
}

// The length is the larger of two that are uniform; every number of a length is equally likely.
TEST(Laws, NumbersInWordsAreUniformOfEachLength) {
  Law law;
  for (std::size_t length = 1; length <= 3; ++length) {
    const double of_length = double(2 * length - 1) / 9, numbers[] = {10, 90, 900};
    each_sequence(length, 10, [&](const Tokens& ids) {
      if (length == 1 || ids[0] != 0) law[ids] = of_length / numbers[length - 1];
    });
  }
  expect_law("number_words", {{"digits", 3}}, law);
}

TEST(Laws, DigitsOfAdditionAreUniform) {
  Law law;
  each_sequence(4, 10, [&](const Tokens& d) {
    law[{d[0], d[1], 10, d[2], d[3], 11, 12, 12, 12}] = 1;
  });
  expect_law("addition", {{"digits", 2}}, law);
}

// Brackets are correct and open with probability 2/5 where one could close; half of the sequences
// then get a random bracket at a random place.
void add_dyck(Tokens& ids, Tokens waiting, std::size_t length, double p, Law& law) {
  constexpr std::int32_t kKinds = 2;
  if (ids.size() == length) {
    law[ids] += p / 2;
    for (std::size_t at = 0; at < length; ++at) {
      for (std::int32_t id = 0; id < 2 * kKinds; ++id) {
        Tokens other = ids;
        other[at] = id;
        law[other] += p / 2 / double(length) / (2 * kKinds);
      }
    }
    return;
  }
  const double opens = waiting.empty() ? 1 : 0.4;
  for (std::int32_t kind = 0; kind < kKinds; ++kind) {
    Tokens longer = waiting;
    longer.push_back(2 * kind + 1);
    ids.push_back(2 * kind);
    add_dyck(ids, longer, length, p * opens / kKinds, law);
    ids.pop_back();
  }
  if (waiting.empty()) return;
  ids.push_back(waiting.back());
  waiting.pop_back();
  add_dyck(ids, waiting, length, p * 0.6, law);
  ids.pop_back();
}

TEST(Laws, DyckOpensTwoInFiveAndBreaksHalf) {
  Law law;
  Tokens ids;
  for (std::size_t length : {5, 6, 7}) add_dyck(ids, {}, length, 1.0 / 3, law);
  expect_law("dyck", {{"length", 7}, {"min_length", 5}, {"kinds", 2}}, law);
}

// A query that occurs once before, not right before, among other tokens.
TEST(Laws, InductionAsksForAnyTokenAtAnyPlace) {
  constexpr std::int32_t kSymbols = 6;
  Law law;
  for (std::int32_t query = 0; query < kSymbols; ++query) {
    each_sequence(4, kSymbols, [&](Tokens ids) {
      if (std::count(ids.begin(), ids.end(), query) != 1 || ids[3] == query) return;
      ids.push_back(query);
      law[ids] = 1;
    });
  }
  expect_law("induction", {{"length", 5}, {"symbols", kSymbols}}, law);
}

TEST(Laws, NeedleHasItsMarkerAnywhereButLast) {
  constexpr std::int32_t kSymbols = 6;
  Law law;
  each_sequence(4, kSymbols + 1, [&](const Tokens& ids) {
    if (std::count(ids.begin(), ids.end(), kSymbols) == 1 && ids[3] != kSymbols) law[ids] = 1;
  });
  expect_law("needle", {{"length", 4}, {"symbols", kSymbols}}, law);
}

// The operation, the number of members, and each member; a member is a list in half of the cases
// where the depth allows it.
void add_lists(std::int32_t depth, const std::function<void(const Tokens&, double)>& add) {
  const auto each_member = [&](const std::function<void(const Tokens&, double)>& f) {
    for (std::int32_t digit = 0; digit < 10; ++digit) f({digit}, depth > 1 ? 0.05 : 0.1);
    if (depth > 1) add_lists(depth - 1, [&](const Tokens& ids, double p) { f(ids, p / 2); });
  };
  for (std::int32_t operation = 10; operation < 14; ++operation) {
    each_member([&](const Tokens& first, double p) {
      each_member([&](const Tokens& second, double q) {
        Tokens ids = {operation};
        ids.insert(ids.end(), first.begin(), first.end());
        ids.insert(ids.end(), second.begin(), second.end());
        ids.push_back(14);
        add(ids, p * q / 4);
      });
    });
  }
}

TEST(Laws, ListopsNestsHalfOfTheMembers) {
  Law law;
  add_lists(2, [&](const Tokens& ids, double p) { law[ids] += p; });
  expect_law("listops", {{"depth", 2}, {"arguments", 2}}, law);
}

TEST(Laws, ListopsHasAnyNumberOfMembers) {
  Law law;
  for (const std::size_t count : {2, 3}) {
    each_sequence(count, 10, [&](const Tokens& digits) {
      for (std::int32_t operation = 10; operation < 14; ++operation) {
        Tokens ids = {operation};
        ids.insert(ids.end(), digits.begin(), digits.end());
        ids.push_back(14);
        law[ids] = std::pow(10, -double(count));
      }
    });
  }
  expect_law("listops", {{"depth", 1}, {"arguments", 3}}, law);
}

TEST(Laws, MqarChoosesKeysValuesAndQueriesEvenly) {
  constexpr std::int32_t kKeys = 5, kValues = 4;
  Law law;
  each_sequence(2, kKeys, [&](const Tokens& keys) {
    if (keys[0] == keys[1]) return;
    each_sequence(2, kValues, [&](const Tokens& values) {
      for (const std::size_t asked : {0u, 1u}) {
        law[{keys[0], kKeys + values[0], keys[1], kKeys + values[1], keys[asked]}] = 1;
      }
    });
  });
  expect_law("mqar", {{"pairs", 2}, {"queries", 1}, {"keys", kKeys}, {"values", kValues}}, law);
}

// With more queries than pairs: both keys in either order, then one of them again.
TEST(Laws, MqarAsksEachKeyOnceBeforeAnyTwice) {
  constexpr std::int32_t kKeys = 3, kValues = 2;
  Law law;
  each_sequence(2, kKeys, [&](const Tokens& keys) {
    if (keys[0] == keys[1]) return;
    each_sequence(2, kValues, [&](const Tokens& values) {
      for (const std::size_t first : {0u, 1u}) {
        for (const std::size_t third : {0u, 1u}) {
          law[{keys[0], kKeys + values[0], keys[1], kKeys + values[1], keys[first], keys[1 - first],
               keys[third]}] = 1;
        }
      }
    });
  });
  expect_law("mqar", {{"pairs", 2}, {"queries", 3}, {"keys", kKeys}, {"values", kValues}}, law);
}

TEST(Laws, SelectiveCopyScattersEvenly) {
  constexpr std::int32_t kSymbols = 4, kNoise = kSymbols, kSlot = kSymbols + 1;
  Law law;
  each_sequence(6, kSymbols + 1, [&](Tokens ids) {
    if (std::count(ids.begin(), ids.end(), kNoise) != 4) return;
    ids.insert(ids.end(), 2, kSlot);
    law[ids] = 1;
  });
  expect_law("selective_copy", {{"length", 6}, {"marked", 2}, {"symbols", kSymbols}}, law);
}

// One word in five is "not", one is good, one is bad, two are plain. Within a group, all words are
// equally likely.
TEST(Laws, NegationHasItsShareOfEveryWord) {
  Law law;
  const auto p = [](std::int32_t id) { return id == 0 ? 0.2 : id < 17 ? 0.2 / 8 : 0.4 / 8; };
  each_sequence(2, 25, [&](const Tokens& ids) { law[ids] = p(ids[0]) * p(ids[1]); });
  expect_law("negation", {{"length", 2}}, law);
}

double probability(const Chain& chain, const Tokens& path) {
  double p = 1 / double(chain.states);
  for (std::size_t t = 1; t < path.size(); ++t) {
    p *= chain.transition[std::size_t(path[t - 1]) * chain.states + std::size_t(path[t])];
  }
  return p;
}

// Each token is hidden with probability 1/4, and one where that hides none.
TEST(Laws, MarkovHidesAQuarter) {
  constexpr std::int32_t kStates = 4;
  constexpr std::size_t kLength = 4;
  const Chain chain = random_chain(Rng(1) / "markov", kStates, 2);
  Law law;
  each_sequence(kLength, kStates, [&](const Tokens& path) {
    each_sequence(kLength, 2, [&](const Tokens& hides) {
      const auto hidden = std::count(hides.begin(), hides.end(), 1);
      if (hidden == 0) return;
      double p = std::pow(0.25, hidden) * std::pow(0.75, double(kLength) - double(hidden));
      if (hidden == 1) p += std::pow(0.75, kLength) / kLength;
      Tokens ids = path;
      for (std::size_t t = 0; t < kLength; ++t) ids[t] = hides[t] == 1 ? kStates : path[t];
      law[ids] += probability(chain, path) * p;
    });
  });
  expect_law("markov", {{"length", std::int64_t(kLength)}, {"states", kStates}}, law);
}

TEST(Laws, HmmEmitsFromItsStates) {
  constexpr std::int32_t kStates = 3, kSymbols = 5;
  constexpr std::size_t kLength = 4;
  const Rng rng = Rng(1) / "hmm";
  const Chain chain = random_chain(rng, kStates, 2);
  const std::vector<double> emission = random_rows(rng / "emission", kStates, kSymbols, 1.5);
  Law law;
  each_sequence(kLength, kStates, [&](const Tokens& path) {
    each_sequence(kLength, kSymbols, [&](const Tokens& ids) {
      double p = probability(chain, path);
      for (std::size_t t = 0; t < kLength; ++t)
        p *= emission[std::size_t(path[t] * kSymbols + ids[t])];
      law[ids] += p;
    });
  });
  expect_law("hmm", {{"length", std::int64_t(kLength)}, {"states", kStates}, {"symbols", kSymbols}},
             law);
}

// Calls f for every graph of four nodes whose pairs are each connected with probability p.
void each_graph(double p, const std::function<void(const Edges&, double)>& f) {
  each_sequence(6, 2, [&](const Tokens& bonds) {
    Edges edges;
    double weight = 1;
    auto bond = bonds.begin();
    for (std::int32_t a = 0; a < 4; ++a) {
      for (std::int32_t b = a + 1; b < 4; ++b, ++bond) {
        if (*bond == 1) edges.emplace_back(a, b);
        weight *= *bond == 1 ? p : 1 - p;
      }
    }
    f(edges, weight);
  });
}

// Two and a half neighbours of a node on average.
TEST(Laws, NeighboursHasItsDegree) {
  Law law;
  each_sequence(4, 3, [&](const Tokens& ids) {
    each_graph(2.5 / 3, [&](const Edges& edges, double p) {
      law[key_of({.ids = ids, .edges = edges})] = p;
    });
  });
  expect_law("neighbours", {{"length", 4}, {"symbols", 3}}, law);
}

// Two bonds an atom and four C to three N to three O; half of the graphs have an N with two Os.
TEST(Laws, MotifIsInHalfOfTheGraphs) {
  const double share[] = {0.4, 0.3, 0.3};
  Law law[2];
  double total[2] = {0, 0};
  each_sequence(4, 3, [&](const Tokens& ids) {
    each_graph(2.0 / 3, [&](const Edges& edges, double p) {
      bool found = false;
      for (std::int32_t n = 0; n < 4; ++n) {
        int oxygens = 0;
        for (const auto& [a, b] : edges) {
          oxygens += (a == n && ids[std::size_t(b)] == 2) || (b == n && ids[std::size_t(a)] == 2);
        }
        found = found || (ids[std::size_t(n)] == 1 && oxygens >= 2);
      }
      for (const std::int32_t id : ids) p *= share[id];
      law[found][key_of({.ids = ids, .edges = edges})] = p;
      total[found] += p;
    });
  });
  Law both;
  for (const int found : {0, 1}) {
    for (const auto& [key, p] : law[found]) both[key] = p / total[found] / 2;
  }
  expect_law("motif", {{"length", 4}}, both);
}

}  // namespace
}  // namespace xgrad

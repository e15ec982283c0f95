// Compares the inputs that a synthetic task draws with the probability of each.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include <xgrad/data/example_text.hpp>
#include <xgrad/data/synthetic/synthetic.hpp>

#include "support/statistics.hpp"

namespace xgrad::test {

/// Probabilities of inputs. A key is the tokens, and -1 with the edges of a graph.
using Law = std::map<Tokens, double>;

inline Tokens key_of(const Example& example) {
  Tokens key = example.ids;
  if (!example.edges.empty()) key.push_back(-1);
  for (const auto& [a, b] : example.edges) key.insert(key.end(), {a, b});
  return key;
}

inline Split split_of_key(const Tokens& key) {
  Example example;
  const auto bar = std::find(key.begin(), key.end(), -1);
  example.ids.assign(key.begin(), bar);
  for (auto at = bar; at != key.end() && ++at != key.end();) {
    const auto a = *at++;
    example.edges.emplace_back(a, *at);
  }
  return split_of(example);
}

/// Draws 50,000 examples of the training and of the test split, and compares how often each input
/// comes up with its probability in that split (chi-square).
inline void expect_law(const std::string& name, Options options, const Law& law,
                       const std::function<Split(const Tokens& key)>& split_of = split_of_key) {
  constexpr std::size_t kDraws = 50000;
  for (const char* size : {"examples", "test"}) options[size] = std::int64_t(kDraws);
  const auto task = find_task(name).make(options, 1);
  for (const Split split : {Split::train, Split::test}) {
    SCOPED_TRACE(name + " " + to_string(split));
    Law counts;
    double total = 0;
    for (const auto& [key, p] : law) {
      if (split_of(key) != split) continue;
      counts[key] = 0;
      total += p;
    }
    const auto data = task->dataset(split);
    for (std::size_t i = 0; i < kDraws; ++i) {
      const auto at = counts.find(key_of(data->get(0, i)));
      ASSERT_NE(at, counts.end()) << "an input that cannot be: "
                                  << testing::PrintToString(key_of(data->get(0, i)));
      at->second += 1;
    }
    std::vector<double> found, expected;
    for (const auto& [key, count] : counts) {
      found.push_back(count);
      expected.push_back(law.at(key) / total * double(kDraws));
    }
    EXPECT_TRUE(counts_fit(found, expected));
  }
}

/// Calls f for every sequence of `length` tokens below `symbols`.
inline void each_sequence(std::size_t length, std::int32_t symbols,
                          const std::function<void(const Tokens&)>& f) {
  for (Tokens ids(length);;) {
    f(ids);
    std::size_t at = 0;
    while (at < length && ++ids[at] == symbols) ids[at++] = 0;
    if (at == length) return;
  }
}

}  // namespace xgrad::test

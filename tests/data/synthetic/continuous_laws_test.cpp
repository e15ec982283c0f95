// Synthetic tasks of real numbers draw from the distributions that they declare.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include <xgrad/data/synthetic/processes.hpp>

#include "support/statistics.hpp"

namespace xgrad {
namespace {

using test::comes_from;
using test::counts_fit;
using test::normal_cdf;

constexpr std::size_t kDraws = 10000;

// Calls f for each example of the training split.
template <class F>
void each_example(const std::string& name, Options options, const F& f) {
  options["examples"] = std::int64_t(kDraws);
  const auto data = find_task(name).make(options, 1)->dataset(Split::train);
  for (std::size_t i = 0; i < kDraws; ++i) f(data->get(0, i));
}

// Checks that mean and variance are 0 and 1, within five standard deviations.
void expect_standard_normal(const std::vector<double>& values) {
  const double n = double(values.size());
  double mean = 0, squares = 0;
  for (const double x : values) mean += x / n, squares += x * x / n;
  EXPECT_NEAR(mean, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(squares, 1, 5 * std::sqrt(2 / n));
  EXPECT_TRUE(comes_from(values, normal_cdf));
}

// All cells are equally likely.
testing::AssertionResult are_even(const std::vector<double>& counts) {
  double sum = 0;
  for (const double count : counts) sum += count;
  return counts_fit(counts, std::vector<double>(counts.size(), sum / double(counts.size())));
}

TEST(ContinuousLaws, RowsOfAChainAreLogNormal) {
  const std::vector<double> rows = random_rows(Rng(7), 3000, 4, 1.5);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < rows.size(); i += 2) {
    ratios.push_back(std::log(rows[i] / rows[i + 1]) / 1.5 / std::numbers::sqrt2);
  }
  expect_standard_normal(ratios);
}

// Vectors surround their centre with deviation 1, and centres surround 0 with deviation 2.
TEST(ContinuousLaws, AnomalyHasOneOddVectorAnywhere) {
  constexpr std::size_t kVectors = 5, kFeatures = 2;
  std::vector<double> odd(kVectors), beside, around, own, centre;
  const Options options = {
      {"vectors", std::int64_t(kVectors)}, {"features", std::int64_t(kFeatures)}, {"spread", 2.0}};
  each_example("anomaly", options, [&](const Example& example) {
    const auto at = [&](std::size_t i, std::size_t k) {
      return double(example.features[i * kFeatures + k]);
    };
    const auto found = std::find(example.targets.begin(), example.targets.end(), 1);
    const auto i = std::size_t(found - example.targets.begin());
    ASSERT_LT(i, kVectors);
    odd[i] += 1;
    const std::size_t one = (i + 1) % kVectors, other = (i + 2) % kVectors;
    around.push_back((at(one, 0) - at(other, 0)) / std::sqrt(2.0));
    beside.push_back((at(one, 0) - at(i, 0)) / std::sqrt(10.0));
    own.push_back(at(i, 1) / std::sqrt(5.0));
    centre.push_back(at(one, 1) / std::sqrt(5.0));
  });
  EXPECT_TRUE(are_even(odd));
  for (const auto& values : {around, beside, own, centre}) expect_standard_normal(values);
}

// A signal is noise through the poles r exp(+-i theta), which are evenly spread. The noise does not
// depend on earlier samples, and the stationary variance is 1.
TEST(ContinuousLaws, Ar2SignalsAreOfTheirProcess) {
  constexpr std::size_t kProcesses = 3;
  constexpr double kRadius = 0.7;
  std::vector<double> processes(kProcesses), lengths(4), noise;
  std::vector<double> with_last[kProcesses];  // products with the sample before
  const Options options = {{"processes", std::int64_t(kProcesses)},
                           {"radius", kRadius},
                           {"length", 5},
                           {"min_length", 2},
                           {"frame", 4}};
  each_example("ar2", options, [&](const Example& example) {
    const auto k = std::size_t(example.targets.at(0));
    processes.at(k) += 1;
    lengths.at(example.features.size() / 4 - 2) += 1;
    const double c = 2 * kRadius * std::cos(std::numbers::pi * double(k + 1) / (kProcesses + 1)),
                 d = kRadius * kRadius;
    const double rho1 = c / (1 + d), rho2 = c * rho1 - d;
    double x1 = 0, x2 = 0;
    for (const float x : example.features) {
      noise.push_back((x - c * x1 + d * x2) / std::sqrt(1 - c * rho1 + d * rho2));
      with_last[k].push_back(noise.back() * x1);
      x2 = x1;
      x1 = x;
    }
  });
  EXPECT_TRUE(are_even(processes));
  EXPECT_TRUE(are_even(lengths));
  expect_standard_normal(noise);
  for (const auto& products : with_last) {
    const double n = double(products.size());
    EXPECT_NEAR(std::accumulate(products.begin(), products.end(), 0.0) / n, 0, 5 / std::sqrt(n));
  }
}

// A first y has the variance |x|^2 + noise^2. Of two pairs of numbers, x_1 y_2 - x_2 y_1 is noise.
TEST(ContinuousLaws, LinearRegressionHasANormalFunctionAndNoise) {
  std::vector<double> vectors, values, noise;
  const auto draw = [](std::int64_t dimension, const auto& use) {
    const Options options = {{"dimension", dimension}, {"pairs", 2}, {"noise", 0.5}};
    each_example("linear_regression", options, use);
  };
  draw(3, [&](const Example& example) {
    double square = 0.25;
    for (std::size_t k = 0; k < 3; ++k) {
      vectors.push_back(example.features[k]);
      square += example.features[k] * example.features[k];
    }
    values.push_back(example.values[0] / std::sqrt(square));
  });
  draw(1, [&](const Example& example) {
    const double x1 = example.features[0], x2 = example.features[4];
    noise.push_back((x1 * example.values[2] - x2 * example.values[0]) / (0.5 * std::hypot(x1, x2)));
  });
  for (const auto& drawn : {vectors, values, noise}) expect_standard_normal(drawn);
}

TEST(ContinuousLaws, MeanOfMarkedMarksOneAndItsShareOfTheRest) {
  constexpr std::size_t kLength = 6;
  constexpr double kMarks = 0.3;
  std::vector<double> values, noise, counts(kLength), expected, places(kLength);
  const Options options = {{"length", std::int64_t(kLength)}, {"marks", kMarks}, {"noise", 0.5}};
  each_example("mean_of_marked", options, [&](const Example& example) {
    double sum = 0, marked = 0;
    for (std::size_t i = 0; i < kLength; ++i) {
      values.push_back(example.features[2 * i]);
      if (example.features[2 * i + 1] == 0) continue;
      sum += example.features[2 * i];
      marked += 1;
      places[i] += 1;
    }
    counts.at(std::size_t(marked) - 1) += 1;
    noise.push_back((example.values.at(0) - sum / marked) / 0.5);
  });
  for (std::size_t k = 0; k < kLength; ++k) {  // binomial among the five others
    const double choices = std::tgamma(6) / std::tgamma(k + 1) / std::tgamma(6 - double(k));
    expected.push_back(kDraws * choices * std::pow(kMarks, k) *
                       std::pow(1 - kMarks, 5 - double(k)));
  }
  EXPECT_TRUE(counts_fit(counts, expected));
  EXPECT_TRUE(are_even(places));
  expect_standard_normal(values);
  expect_standard_normal(noise);
}

TEST(ContinuousLaws, ShapesAreAnywhereOnNoise) {
  constexpr std::size_t kSize = 8, kSide = 5, kRoom = kSize - kSide + 1;
  std::vector<double> shapes(4 * kRoom * kRoom), dark, bright;  // by class and place
  each_example("shapes", {{"size", std::int64_t(kSize)}}, [&](const Example& example) {
    const auto shape = std::size_t(example.targets.at(0));
    std::size_t top = kSize, left = kSize;
    for (std::size_t i = 0; i < kSize * kSize; ++i) {
      const double x = example.features[i];
      (x < 0.5 ? dark : bright).push_back(x);
      if (x < 0.5) continue;
      top = std::min(top, i / kSize);
      left = std::min(left, i % kSize);
    }
    shapes.at((shape * kRoom + top) * kRoom + left) += 1;
  });
  EXPECT_TRUE(are_even(shapes));
  const auto uniform = [](double low) {
    return [low](double x) { return std::clamp((x - low) / 0.4, 0.0, 1.0); };
  };
  EXPECT_TRUE(comes_from(dark, uniform(0)));
  EXPECT_TRUE(comes_from(bright, uniform(0.6)));
}

// The processes are equally likely, so that the value has the mixture's distribution given the
// signal: the probability of a smaller one is uniform.
TEST(ContinuousLaws, NextValueIsOfTheMixture) {
  constexpr int kProcesses = 3;
  std::vector<double> below;
  const Options options = {
      {"processes", std::int64_t(kProcesses)}, {"radius", 0.7}, {"length", 2}, {"frame", 3}};
  each_example("next_value", options, [&](const Example& example) {
    double weights = 0, sum = 0;
    for (int k = 0; k < kProcesses; ++k) {
      const double c = 1.4 * std::cos(std::numbers::pi * (k + 1) / (kProcesses + 1)), d = 0.49;
      const double rho1 = c / (1 + d), sigma = std::sqrt(1 - c * rho1 + d * (c * rho1 - d));
      double x1 = 0, x2 = 0, density = 1;
      for (const float x : example.features) {
        density *= std::exp(-std::pow((x - c * x1 + d * x2) / sigma, 2) / 2) / sigma;
        x2 = x1;
        x1 = x;
      }
      weights += density;
      sum += density * normal_cdf((example.values.at(0) - c * x1 + d * x2) / sigma);
    }
    below.push_back(sum / weights);
  });
  EXPECT_TRUE(comes_from(below, [](double p) { return p; }));
}

}  // namespace
}  // namespace xgrad

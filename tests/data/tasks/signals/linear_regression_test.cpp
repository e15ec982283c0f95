// In-context linear regression: what a prompt contains, and its lowest possible loss, against
// kernel ridge regression, which solves a system of as many equations as there are pairs.
#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <cmath>
#include <cstring>
#include <numeric>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/example_text.hpp>

namespace xgrad {
namespace {

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;

std::unique_ptr<Task> make(const Options& options = {}, std::uint64_t seed = 1) {
  return find_task("linear_regression").make(options, seed);
}

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Solves a x = b by Gaussian elimination with pivots.
Vector solve(Matrix a, Vector b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t pivot = i;
    for (std::size_t r = i; r < n; ++r) {
      if (std::abs(a[r][i]) > std::abs(a[pivot][i])) pivot = r;
    }
    std::swap(a[i], a[pivot]);
    std::swap(b[i], b[pivot]);
    for (std::size_t r = i + 1; r < n; ++r) {
      const double factor = a[r][i] / a[i][i];
      for (std::size_t c = i; c < n; ++c) a[r][c] -= factor * a[i][c];
      b[r] -= factor * b[i];
    }
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t c = i + 1; c < n; ++c) b[i] -= a[i][c] * b[c];
    b[i] /= a[i][i];
  }
  return b;
}

struct Prompt {
  Prompt(const Example& example, std::size_t features) {
    for (std::size_t i = 0; i < example.values.size(); i += 2) {
      const auto at = example.features.begin() + std::ptrdiff_t(i * features);
      x.emplace_back(at, at + std::ptrdiff_t(features - 1));
      y.push_back(example.values[i]);
    }
  }
  Matrix x;
  Vector y;
};

struct Guess {
  double value, variance;
};

// The mean and variance of y_i given the pairs before it: y is a Gaussian process with the kernel
// x . x', plus noise.
Guess kernel_ridge(const Prompt& prompt, std::size_t i, double noise) {
  Matrix kernel(i, Vector(i));
  Vector own(i);
  for (std::size_t a = 0; a < i; ++a) {
    for (std::size_t b = 0; b < i; ++b) kernel[a][b] = dot(prompt.x[a], prompt.x[b]);
    kernel[a][a] += noise * noise;
    own[a] = dot(prompt.x[a], prompt.x[i]);
  }
  const Vector weights = solve(kernel, own);
  return {std::inner_product(weights.begin(), weights.end(), prompt.y.begin(), 0.0),
          dot(prompt.x[i], prompt.x[i]) + noise * noise - dot(weights, own)};
}

TEST(LinearRegression, APromptAlternatesVectorsAndValues) {
  const auto task = make({{"dimension", 3}, {"pairs", 4}});
  const TaskShape shape = task->shape();
  EXPECT_EQ(shape.features, 4u);
  EXPECT_EQ(shape.max_length, 7u);
  const Example example = task->dataset(Split::train)->get(0, 5);
  ASSERT_NO_THROW(check_example(example, shape, 5));
  ASSERT_EQ(example.features.size(), 7u * 4);
  ASSERT_EQ(example.values.size(), 7u);
  for (std::size_t i = 0; i < 7; ++i) {
    const float* const token = example.features.data() + i * 4;
    const bool is_vector = i % 2 == 0;
    EXPECT_EQ(std::isnan(example.values[i]), !is_vector) << i;
    for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(token[k] != 0, is_vector) << i;
    EXPECT_EQ(token[3], is_vector ? 0 : example.values[i - 1]) << i;
  }
  EXPECT_EQ(task->parse(input_text(example, shape)).features, example.features);
}

TEST(LinearRegression, ThreePairsDetermineAFunctionOfThreeNumbers) {
  const auto data = make({{"dimension", 3}, {"pairs", 6}})->dataset(Split::test);
  for (std::size_t n = 0; n < 20; ++n) {
    const Prompt prompt(data->get(0, n), 4);
    const Vector w =
        solve({prompt.x.begin(), prompt.x.begin() + 3}, {prompt.y.begin(), prompt.y.begin() + 3});
    for (std::size_t i = 3; i < 6; ++i) EXPECT_NEAR(dot(w, prompt.x[i]), prompt.y[i], 2e-3) << n;
  }
}

// Without noise, the kernel matrix of more pairs than dimensions is singular; the error is 0 then.
TEST(LinearRegression, TheFloorIsTheVarianceGivenThePairsBefore) {
  for (const double noise : {0.0, 0.01, 0.5, 3.0}) {
    const auto task =
        make({{"dimension", 4}, {"pairs", 9}, {"noise", noise}, {"validation", 10}, {"test", 50}});
    const auto data = task->dataset(Split::test);
    double sum = 0;
    for (std::size_t n = 0; n < data->size(); ++n) {
      const Prompt prompt(data->get(0, n), 5);
      for (std::size_t i = 0; i < 9; ++i) {
        if (noise > 0 || i < 4) sum += kernel_ridge(prompt, i, noise).variance;
      }
    }
    EXPECT_NEAR(task->ceiling(Split::test).value().loss, sum / (9.0 * 50), 1e-9) << noise;
    EXPECT_NE(task->ceiling(Split::validation).value().loss, task->ceiling(Split::test)->loss);
  }
}

// A pair removes one unknown dimension of w, so the loss is (3 + 2 + 1 + 0 + 0) / 5.
TEST(LinearRegression, WithoutNoiseTheFloorIsTheMeanNumberOfUnknownDimensions) {
  const auto task = make({{"dimension", 3}, {"pairs", 5}, {"test", 4000}});
  EXPECT_NEAR(task->ceiling(Split::test).value().loss, 6.0 / 5, 0.05);
}

// The mean squared errors of ridge regression and of a guess that knows the noise to be another.
TEST(LinearRegression, RidgeRegressionReachesTheFloor) {
  constexpr double kNoise = 1;
  const auto task = make({{"dimension", 3}, {"pairs", 6}, {"noise", kNoise}, {"test", 4000}});
  const auto data = task->dataset(Split::test);
  double errors = 0, squares = 0, other = 0;
  for (std::size_t n = 0; n < data->size(); ++n) {
    const Prompt prompt(data->get(0, n), 4);
    double error = 0;
    for (std::size_t i = 0; i < 6; ++i) {
      error += std::pow(prompt.y[i] - kernel_ridge(prompt, i, kNoise).value, 2) / 6;
      other += std::pow(prompt.y[i] - kernel_ridge(prompt, i, kNoise / 4).value, 2) / 6;
    }
    errors += error;
    squares += error * error;
  }
  const double count = 4000, mean = errors / count;
  const double deviation = std::sqrt((squares / count - mean * mean) / count);
  const double floor = task->ceiling(Split::test).value().loss;
  EXPECT_NEAR(mean, floor, 4 * deviation);
  EXPECT_GT(other / count, floor + 4 * deviation);
}

TEST(LinearRegression, ExamplesAreAFunctionOfSeedSplitAndIndex) {
  const auto train = make()->dataset(Split::train), again = make()->dataset(Split::train);
  const auto test = make()->dataset(Split::test), other = make({}, 2)->dataset(Split::train);
  for (std::size_t i = 20; i-- > 0;) {
    const Example example = train->get(0, i), same = again->get(7, i);
    EXPECT_EQ(example.features, same.features);
    ASSERT_EQ(example.values.size(), same.values.size());
    EXPECT_EQ(std::memcmp(example.values.data(), same.values.data(),
                          example.values.size() * sizeof(float)),
              0);
    EXPECT_NE(example.features, test->get(0, i).features);
    EXPECT_NE(example.features, other->get(0, i).features);
  }
}

TEST(LinearRegression, BadKeysAreNamed) {
  const auto error_of = [](const Options& options) {
    return test::message_of<ConfigError>([&] { make(options); });
  };
  EXPECT_EQ(error_of({{"dimension", 1}, {"pairs", 1}, {"noise", 0}}), "none");
  EXPECT_EQ(error_of({{"dimension", 0}}), "dimension: is 0, must be from 1 to 1024");
  EXPECT_EQ(error_of({{"pairs", 0}}), "pairs: is 0, must be from 1 to 32768");
  EXPECT_EQ(error_of({{"noise", -0.5}}), "noise: is -0.5, must be from 0 to 100");
  EXPECT_NE(error_of({{"dimensions", 5}}).find("did you mean dimension"), std::string::npos);
  EXPECT_EQ(test::message_of<DataError>([] {
              make({{"dimension", 2}})->parse("1 2 0, 0 0");
            }),
            "linear_regression: the line has 5 numbers, expected vectors of 3");
}

}  // namespace
}  // namespace xgrad

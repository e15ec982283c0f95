// Tasks on vectors, against answers and limits that are worked out apart from them.
#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/example_text.hpp>
#include <xgrad/data/synthetic/processes.hpp>

namespace xgrad {
namespace {

std::unique_ptr<Task> make(const std::string& name, const Options& options = {}) {
  return find_task(name).make(options, 1);
}

// sum_t log N(x_t; a1 x_(t-1) + a2 x_(t-2), sigma^2) of process k of K, from its poles: x_t less
// what they give is the signal filtered by (1 - p B)(1 - p* B), p = r exp(i theta).
double log_density(const std::vector<float>& x, double k, double count, double r) {
  const double theta = std::numbers::pi * (k + 1) / (count + 1);
  const double c = 2 * r * std::cos(theta), square = r * r;
  // The variance of an AR(2) process by its first autocorrelation, rho_1 = a1 / (1 - a2).
  const double rho1 = c / (1 + square), rho2 = c * rho1 - square;
  const double noise = 1 - c * rho1 + square * rho2;  // of variance 1
  double sum = 0;
  for (std::size_t t = 0; t < x.size(); ++t) {
    const double x1 = t > 0 ? x[t - 1] : 0, x2 = t > 1 ? x[t - 2] : 0;
    const double e = x[t] - c * x1 + square * x2;
    sum += -0.5 * std::log(2 * std::numbers::pi * noise) - e * e / (2 * noise);
  }
  return sum;
}

TEST(Ar2, S4_3_TheStationaryVarianceIsOne) {
  for (const Ar2& process : resonators(4, 0.8)) {
    double sum = 0, count = 0;
    for (std::uint64_t i = 0; i < 200; ++i) {
      const std::vector<float> x = signal(process, Rng(3) / i, 400);
      for (std::size_t t = 50; t < x.size(); ++t) {
        sum += double(x[t]) * x[t];
        count += 1;
      }
    }
    EXPECT_NEAR(sum / count, 1, 0.03) << process.a1;
  }
}

// The class that is likeliest is right as often as the ceiling says, and the ceiling is that of the
// densities above.
TEST(Ar2, S4_3_TheCeilingIsThatOfTheLikelihoods) {
  const auto task = make("ar2", {{"length", 4}, {"min_length", 2}, {"frame", 4}, {"test", 3000}});
  const auto test = task->dataset(Split::test);
  double right = 0, best = 0, entropy = 0;
  for (std::size_t i = 0; i < test->size(); ++i) {
    const Example example = test->get(0, i);
    ASSERT_NO_THROW(check_example(example, task->shape(), i));
    std::vector<double> p;
    double sum = 0;
    for (int k = 0; k < 4; ++k) p.push_back(std::exp(log_density(example.features, k, 4, 0.8)));
    for (const double value : p) sum += value;
    const auto guess = std::max_element(p.begin(), p.end());
    right += guess - p.begin() == example.targets[0];
    best += *guess / sum;
    for (const double value : p) entropy -= value > 0 ? value / sum * std::log(value / sum) : 0;
  }
  const auto n = double(test->size());
  const Ceiling ceiling = task->ceiling(Split::test).value();
  EXPECT_NEAR(ceiling.accuracy, best / n, 1e-9);
  EXPECT_NEAR(ceiling.loss, entropy / n, 1e-9);
  EXPECT_NEAR(right / n, ceiling.accuracy,
              4 * std::sqrt(ceiling.accuracy * (1 - ceiling.accuracy) / n));
  EXPECT_GT(ceiling.accuracy, 0.6);
  EXPECT_LT(ceiling.accuracy, 0.99);
}

// The mean of what the processes expect, weighted by how likely each is, comes as near to the value
// as the floor says.
TEST(NextValue, S2_15_TheFloorIsTheSquareErrorOfTheBestGuess) {
  const auto task = make("next_value", {{"length", 3}, {"min_length", 1}, {"test", 4000}});
  const auto test = task->dataset(Split::test);
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < test->size(); ++i) {
    const Example example = test->get(0, i);
    ASSERT_NO_THROW(check_example(example, task->shape(), i));
    const std::vector<float>& x = example.features;
    double weights = 0, mean = 0;
    for (int k = 0; k < 4; ++k) {
      const double w = std::exp(log_density(x, k, 4, 0.8));
      const double theta = std::numbers::pi * (k + 1) / 5;
      weights += w;
      mean += w * (1.6 * std::cos(theta) * x.back() - 0.64 * x[x.size() - 2]);
    }
    const double d = example.values.at(0) - mean / weights;
    sum += d * d;
    squares += d * d * d * d;
  }
  const auto n = double(test->size());
  const double error = sum / n, deviation = std::sqrt((squares / n - error * error) / n);
  EXPECT_NEAR(task->ceiling(Split::test).value().loss, error, 4 * deviation);
}

TEST(MeanOfMarked, S2_15_TheFloorIsTheNoise) {
  const auto task = make("mean_of_marked", {{"min_length", 1}, {"noise", 0.5}, {"test", 4000}});
  const auto test = task->dataset(Split::test);
  double squares = 0, marks = 0, vectors = 0;
  for (std::size_t i = 0; i < test->size(); ++i) {
    const Example example = test->get(0, i);
    ASSERT_NO_THROW(check_example(example, task->shape(), i));
    double sum = 0, count = 0;
    for (std::size_t k = 0; k < example.features.size(); k += 2) {
      if (example.features[k + 1] != 0) sum += example.features[k], count += 1;
    }
    ASSERT_GT(count, 0);
    marks += count;
    vectors += double(example.features.size()) / 2;
    const double d = example.values.at(0) - sum / count;
    squares += d * d;
  }
  const auto n = double(test->size());
  EXPECT_NEAR(squares / n, 0.25, 4 * 0.25 * std::sqrt(2 / n));  // chi-squared
  EXPECT_EQ(task->ceiling(Split::test).value().loss, 0.25);
  EXPECT_GT(marks / vectors, 0.25);  // a quarter, and the one that always is
  EXPECT_LT(marks / vectors, 0.5);
}

TEST(VectorTasks, ExamplesAreAFunctionOfSeedSplitAndIndex) {
  for (const char* name : {"ar2", "next_value", "mean_of_marked"}) {
    const auto train = make(name)->dataset(Split::train), again = make(name)->dataset(Split::train);
    const auto test = make(name)->dataset(Split::test);
    const auto other = find_task(name).make({}, 2)->dataset(Split::train);
    for (std::size_t i = 20; i-- > 0;) {
      const Example example = train->get(0, i);
      EXPECT_EQ(example.features, again->get(7, i).features);
      EXPECT_EQ(example.values, again->get(7, i).values);
      EXPECT_EQ(example.targets, again->get(7, i).targets);
      EXPECT_NE(example.features, test->get(0, i).features);
      EXPECT_NE(example.features, other->get(0, i).features);
    }
  }
}

TEST(VectorTasks, ReadALineAsTheyAreWritten) {
  for (const char* name : {"ar2", "mean_of_marked"}) {
    const auto task = make(name);
    const Example example = task->dataset(Split::train)->get(0, 3);
    EXPECT_EQ(task->parse(input_text(example, task->shape())).features, example.features) << name;
  }
  const auto task = make("mean_of_marked", {{"length", 2}});
  const auto error_of = [&](const std::string& line) {
    return test::message_of<DataError>([&] { task->parse(line); });
  };
  EXPECT_EQ(error_of("1 0, -2.5e-1 1"), "none");
  EXPECT_EQ(error_of("1 0 2"), "mean_of_marked: the line has 3 numbers, expected vectors of 2");
  EXPECT_EQ(error_of("1 x"), "mean_of_marked: number 2 is \"x\", must be a finite number");
  EXPECT_EQ(error_of("1 inf"), "mean_of_marked: number 2 is \"inf\", must be a finite number");
  EXPECT_EQ(error_of("1, 0"),
            "mean_of_marked: the comma after number 1 ends a vector that must have 2 numbers");
  EXPECT_EQ(error_of(" "), "mean_of_marked: the line has no numbers");
  EXPECT_EQ(error_of("1 0 1 0 1 0"), "mean_of_marked: the line has 3 vectors, must have at most 2");
}

}  // namespace
}  // namespace xgrad

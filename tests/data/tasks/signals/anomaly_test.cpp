// The best that there can be at finding the odd vector, against counting and an integral.
#include <gtest/gtest.h>

#include <cmath>

#include <xgrad/data/task.hpp>

namespace xgrad {
namespace {

double density(double x, double mean) {
  return std::exp(-(x - mean) * (x - mean) / 2) / std::sqrt(2 * M_PI);
}

// p(a set less one of its numbers), by integrating over where the centre is in steps of 0.01.
double evidence(const std::vector<float>& x, std::size_t left_out, double spread) {
  double sum = 0;
  for (double centre = -40; centre < 40; centre += 0.01) {
    double p = density(centre / spread, 0) / spread * 0.01;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i != left_out) p *= density(double(x[i]), centre);
    }
    sum += p;
  }
  return sum;
}

// Of one number a vector: p(set | odd is i) = p(the others around one centre) p(x_i around
// another).
std::vector<double> posterior(const std::vector<float>& x, double spread) {
  std::vector<double> p;
  double total = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::vector<float> alone = {x[i]};
    p.push_back(evidence(x, i, spread) * evidence(alone, alone.size(), spread));
    total += p.back();
  }
  for (double& each : p) each /= total;
  return p;
}

TEST(Anomaly, TheCeilingIsThatOfThePosterior) {
  const auto task =
      find_task("anomaly").make({{"vectors", 4}, {"features", 1}, {"test", 20}, {"spread", 3}}, 1);
  const auto dataset = task->dataset(Split::test);
  double right = 0, loss = 0;
  for (std::size_t i = 0; i < dataset->size(); ++i) {
    for (double p : posterior(dataset->get(0, i).features, 3)) {
      right += std::max(p, 1 - p) / 80;
      loss -= (p * std::log(p) + (1 - p) * std::log(1 - p)) / 80;
    }
  }
  const Ceiling ceiling = task->ceiling(Split::test).value();
  EXPECT_NEAR(ceiling.accuracy, right, 1e-6);
  EXPECT_NEAR(ceiling.loss, loss, 1e-6);
}

// Calling the vector odd that is farthest from the mean of the others is a good rule, and no rule
// is better than the ceiling.
TEST(Anomaly, TheFarthestFromTheOthersIsNearlyTheCeiling) {
  const auto task = find_task("anomaly").make({{"test", 2000}}, 1);
  const auto dataset = task->dataset(Split::test);
  const std::size_t n = task->shape().max_length, k = task->shape().features;
  double right = 0;
  for (std::size_t i = 0; i < dataset->size(); ++i) {
    const Example example = dataset->get(0, i);
    std::vector<double> mean(k);
    for (std::size_t j = 0; j < n * k; ++j) mean[j % k] += double(example.features[j]) / double(n);
    std::size_t farthest = 0;
    double most = 0;
    for (std::size_t j = 0; j < n; ++j) {
      double distance = 0;
      for (std::size_t f = 0; f < k; ++f) {
        distance += std::pow(double(example.features[j * k + f]) - mean[f], 2);
      }
      if (distance > most) most = distance, farthest = j;
    }
    right += example.targets[farthest] == 1 ? double(n) : double(n) - 2;
  }
  const double accuracy = right / double(dataset->size() * n);
  const double ceiling = task->ceiling(Split::test).value().accuracy;
  EXPECT_LT(accuracy, ceiling + 0.003);
  EXPECT_GT(accuracy, ceiling - 0.01);
}

}  // namespace
}  // namespace xgrad

#include <xgrad/data/synthetic/autoregression.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <xgrad/autograd/kernels/portable_math.hpp>

namespace xgrad {

std::vector<Ar2> resonators(std::size_t count, double radius) {
  std::vector<Ar2> processes;
  for (std::size_t k = 0; k < count; ++k) {
    const double theta = std::numbers::pi * double(k + 1) / double(count + 1);
    const double a1 = 2 * radius * portable::cos(theta), a2 = -radius * radius;
    const double variance = (1 - a2) / ((1 + a2) * ((1 - a2) * (1 - a2) - a1 * a1));
    processes.push_back({a1, a2, 1 / std::sqrt(variance)});
  }
  return processes;
}

std::vector<float> signal(const Ar2& process, const Rng& rng, std::size_t length) {
  const auto noise = rng.normals(length);
  std::vector<float> x(length);
  float x1 = 0, x2 = 0;
  for (std::size_t t = 0; t < length; ++t) {
    x[t] = float(process.expected(x1, x2) + process.sigma * noise[t]);
    x2 = x1;
    x1 = x[t];
  }
  return x;
}

std::vector<double> posterior(const std::vector<Ar2>& processes, const std::vector<float>& signal) {
  std::vector<double> p;
  for (const Ar2& process : processes) {
    double log_likelihood = -double(signal.size()) * portable::log(process.sigma), x1 = 0, x2 = 0;
    for (const float x : signal) {
      const double e = (x - process.expected(x1, x2)) / process.sigma;
      log_likelihood -= e * e / 2;
      x2 = x1;
      x1 = x;
    }
    p.push_back(log_likelihood);
  }
  const double largest = *std::max_element(p.begin(), p.end());
  double sum = 0;
  for (double& value : p) sum += value = portable::exp(value - largest);
  for (double& value : p) value /= sum;
  return p;
}

}  // namespace xgrad

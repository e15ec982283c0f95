#include <xgrad/data/synthetic/processes.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <xgrad/autograd/portable_math.hpp>

namespace xgrad {

void normalise(double* row, std::size_t size) {
  double sum = 0;
  for (std::size_t i = 0; i < size; ++i) sum += row[i];
  for (std::size_t i = 0; i < size; ++i) row[i] /= sum;
}

std::vector<double> random_rows(const Rng& rng, std::size_t count, std::size_t size,
                                double spread) {
  std::vector<double> rows = rng.normals(count * size);
  for (double& x : rows) x = portable::exp(spread * x);
  for (std::size_t i = 0; i < count; ++i) normalise(rows.data() + i * size, size);
  return rows;
}

std::int32_t choose(const double* distribution, std::size_t size, double uniform) {
  std::size_t value = 0;
  while (value + 1 < size && uniform >= distribution[value]) uniform -= distribution[value++];
  return std::int32_t(value);
}

Tokens walk(const Chain& chain, const Rng& rng, std::size_t length) {
  const auto uniforms = rng.uniforms(length);
  Tokens states = {std::int32_t(rng.below(chain.states, 0))};
  while (states.size() < length) {
    const double* row = chain.transition.data() + std::size_t(states.back()) * chain.states;
    states.push_back(choose(row, chain.states, uniforms[states.size()]));
  }
  return states;
}

std::vector<double> smooth(const Chain& chain, const std::vector<double>& likelihood) {
  const std::size_t k = chain.states, n = likelihood.size() / k;
  const double* const step = chain.transition.data();
  std::vector<double> forward = likelihood;  // p(state t | evidence up to t)
  for (std::size_t t = 0; t < n; ++t) {
    double* const row = forward.data() + t * k;
    for (std::size_t to = 0; t > 0 && to < k; ++to) {
      double reached = 0;
      for (std::size_t from = 0; from < k; ++from) reached += row[from - k] * step[from * k + to];
      row[to] *= reached;
    }
    normalise(row, k);
  }
  std::vector<double> after(k, 1), before(k);  // p(evidence after t | state t), up to a factor
  for (std::size_t t = n; t-- > 0;) {
    double* const row = forward.data() + t * k;
    for (std::size_t i = 0; i < k; ++i) row[i] *= after[i];
    normalise(row, k);
    for (std::size_t from = 0; from < k; ++from) {
      before[from] = 0;
      for (std::size_t to = 0; to < k; ++to) {
        before[from] += step[from * k + to] * likelihood[t * k + to] * after[to];
      }
    }
    normalise(before.data(), k);
    after.swap(before);
  }
  return forward;
}

std::vector<double> from_logarithms(std::vector<double> values) {
  const double largest = *std::ranges::max_element(values);
  double sum = 0;
  for (double& value : values) sum += value = portable::exp(value - largest);
  for (double& value : values) value /= sum;
  return values;
}

void add_best_guess(const double* distribution, std::size_t size, Synthetic::Best& sum) {
  sum.right += *std::max_element(distribution, distribution + size);
  for (std::size_t i = 0; i < size; ++i) {
    if (distribution[i] > 0) sum.loss -= distribution[i] * portable::log(distribution[i]);
  }
  sum.targets += 1;
}

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
  return from_logarithms(std::move(p));
}

}  // namespace xgrad

// Reads tests/golden/optim.txt, and states the parameters and gradients that its script uses.
#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parameters.hpp>

#include "support/source_tree.hpp"

namespace xgrad::test {

using Golden = std::map<std::string, std::vector<double>>;

inline const Golden& golden() {
  static const Golden values = [] {
    Golden result;
    std::ifstream file(source_path("tests/golden/optim.txt"));
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string name, number;
      words >> name;
      while (words >> number) {
        if (name != "#") result[name].push_back(std::stod(number));
      }
    }
    return result;
  }();
  return values;
}

inline Initializer constant(double value) {
  return [value](std::span<double> values, const Shape&, const Rng&) {
    std::fill(values.begin(), values.end(), value);
  };
}

template <class T>
Variable<T> make_parameter(Parameters<T>& parameters, const std::string& name, const Shape& shape,
                           const Initializer& init, WeightDecay decay = WeightDecay::on) {
  Scope<T> scope = parameters.root();
  std::istringstream path(name);
  std::string part;
  std::getline(path, part, '.');
  for (std::string next; std::getline(path, next, '.'); part = next) scope = scope / part;
  return scope.parameter(part, shape, init, decay);
}

/// Adds to the gradient of a parameter.
template <class T>
void add_gradient(const Variable<T>& parameter, Tensor<T> gradient) {
  scale(parameter, T(1)).backward(std::move(gradient));
}

template <class T>
void make_golden_parameters(Parameters<T>& parameters) {
  struct Row {
    std::string name;
    Shape shape;
    WeightDecay decay;
  };
  const std::vector<Row> list = {
      {"embedding.token.weight", {3, 2}, WeightDecay::off},
      {"embedding.position.weight", {4, 2}, WeightDecay::off},
      {"encoder.layers.0.norm1.weight", {2}, WeightDecay::off},
      {"encoder.layers.0.attention.in_proj_weight", {6, 2}, WeightDecay::on},
      {"encoder.layers.0.attention.in_proj_bias", {6}, WeightDecay::off},
      {"head.weight", {3, 2}, WeightDecay::on},
  };
  for (std::size_t p = 0; p < list.size(); ++p) {
    const auto fill = [p](std::span<double> values, const Shape&, const Rng&) {
      for (std::size_t e = 0; e < values.size(); ++e) {
        values[e] = (double((5 * e + 2 * p) % 13) - 6) / 8;
      }
    };
    make_parameter(parameters, list[p].name, list[p].shape, fill, list[p].decay);
  }
}

template <class T>
void set_golden_gradients(const Parameters<T>& parameters, std::size_t step) {
  parameters.zero_grad();
  std::size_t p = 0;
  for (const Parameter<T>& parameter : parameters) {
    Tensor<T> g = parameter.variable.value();
    for (std::size_t e = 0; e < g.size(); ++e) {
      g.data()[e] += T((double((7 * e + 3 * step + p) % 11) - 5) / 8);
    }
    if (parameter.variable.requires_grad()) add_gradient(parameter.variable, std::move(g));
    ++p;
  }
}

/// Worst difference relative to the larger of 1e-2 and the expected value.
template <class T>
double difference(const Tensor<T>& x, const std::string& name) {
  const std::vector<double>& expected = golden().at(name);
  if (expected.size() != x.size()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = std::abs(double(x.data()[i]) - expected[i]);
    worst = std::max(worst, error / std::max(1e-2, std::abs(expected[i])));
  }
  return worst;
}

}  // namespace xgrad::test

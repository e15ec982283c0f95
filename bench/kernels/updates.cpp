// Benchmarks passes over all parameters: optimizer and gradient norm. The limit: a copy.
#include <cmath>
#include <vector>

#include <xgrad/autograd/ops.hpp>
#include <xgrad/optim/clip.hpp>
#include <xgrad/optim/optimizers.hpp>

#include "in_turn.hpp"

namespace xgrad::bench {

namespace {

constexpr std::size_t kCount = 1 << 20;

// Parameters with a gradient.
struct Model {
  Parameters<float> parameters{1};

  Model() {
    const auto zero = [](std::span<double> values, const Shape&, const Rng&) {
      std::fill(values.begin(), values.end(), 0.0);
    };
    const auto weight = (parameters.root() / "layer").parameter("weight", {kCount}, zero);
    scale(weight, 1.0f).backward(uniform({kCount}));
  }
};

void adam(benchmark::State& state) {
  const Model model;
  const auto optimizer = make_optimizer<float>("adam", model.parameters, {});
  std::vector<float> x(kCount), m(kCount), v(kCount);
  const std::vector<float> g(kCount, 0.25f);
  const auto plain = [&] {
    for (std::size_t i = 0; i < kCount; ++i) {
      m[i] = 0.9f * m[i] + 0.1f * g[i];
      v[i] = 0.999f * v[i] + 0.001f * g[i] * g[i];
      x[i] -= 1e-3f * m[i] / (std::sqrt(v[i]) + 1e-8f);
    }
    benchmark::ClobberMemory();
  };
  // Reads value, gradient and two moments, writes all but the gradient.
  in_turn(state, [&] { optimizer->step(1e-3); }, {copy(7, kCount), plain});
}

void norm(benchmark::State& state) {
  const Model model;
  const Tensor<float>& grad = model.parameters.begin()->variable.grad();
  const auto plain = [&] {
    double sum = 0;
    for (std::size_t i = 0; i < kCount; ++i) sum += double(grad.data()[i]) * grad.data()[i];
    benchmark::DoNotOptimize(sum);
  };
  const auto ours = [&] { benchmark::DoNotOptimize(global_norm(model.parameters)); };
  in_turn(state, ours, {copy(1, kCount), plain});
}

}  // namespace

void add_updates() {
  add("adam", adam);
  add("global_norm", norm);
}

}  // namespace xgrad::bench

// Benchmarks ops that pass over memory, forward and backward, on an input of (2048, 384). The
// limit: a copy of the tensors that they must read and write.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include <xgrad/autograd/ops.hpp>

#include "in_turn.hpp"

namespace xgrad::bench {

namespace {

constexpr std::size_t kRows = 2048, kWidth = 384, kSize = kRows * kWidth;
constexpr double kRate = 0.1;

// The arrays of the plain loops. x also serves as dy.
struct Arrays {
  std::vector<float> x = std::vector<float>(kSize, 0.25f), y = x, dx = x;
  std::vector<float> weight = std::vector<float>(kWidth, 1.0f), dweight = weight, dbias = weight;

  Arrays() {
    for (std::size_t i = 0; i < kSize; ++i) x[i] = float(Rng(1).uniform(i) - 0.5);
  }
};

// y = (x - m) r w and its derivatives; rms: m is 0.
void plain_norm(Arrays& a, bool rms) {
  for (std::size_t row = 0; row < kRows; ++row) {
    const float* x = &a.x[row * kWidth];
    const float* dy = x;
    const float n = kWidth;
    float mean = 0, square = 0, sum = 0, dot = 0;
    for (std::size_t i = 0; i < kWidth && !rms; ++i) mean += x[i] / n;
    for (std::size_t i = 0; i < kWidth; ++i) square += (x[i] - mean) * (x[i] - mean) / n;
    const float r = 1 / std::sqrt(square + 1e-5f);
    for (std::size_t i = 0; i < kWidth; ++i) {
      a.y[row * kWidth + i] = (x[i] - mean) * r * a.weight[i];
    }
    for (std::size_t i = 0; i < kWidth; ++i) {
      a.dweight[i] += dy[i] * (x[i] - mean) * r;
      a.dbias[i] += dy[i];
      sum += dy[i] * a.weight[i] / n;
      dot += dy[i] * a.weight[i] * (x[i] - mean) * r / n;
    }
    for (std::size_t i = 0; i < kWidth; ++i) {
      a.dx[row * kWidth + i] =
          r * (dy[i] * a.weight[i] - (rms ? 0 : sum) - (x[i] - mean) * r * dot);
    }
  }
}

// With `log_loss`: dx of cross_entropy, with the first class as target.
void plain_softmax(Arrays& a, bool log_loss) {
  for (std::size_t row = 0; row < kRows; ++row) {
    const float* x = &a.x[row * kWidth];
    float* y = &a.y[row * kWidth];
    float largest = x[0], sum = 0, dot = 0;
    for (std::size_t i = 0; i < kWidth; ++i) largest = std::max(largest, x[i]);
    for (std::size_t i = 0; i < kWidth; ++i) sum += y[i] = std::exp(x[i] - largest);
    for (std::size_t i = 0; i < kWidth; ++i) y[i] /= sum;
    for (std::size_t i = 0; i < kWidth; ++i) dot += x[i] * y[i];
    for (std::size_t i = 0; i < kWidth; ++i) {
      a.dx[row * kWidth + i] = log_loss ? y[i] - float(i == 0) : y[i] * (x[i] - dot);
    }
  }
}

void plain_gelu(Arrays& a) {
  for (std::size_t i = 0; i < kSize; ++i) {
    const float x = a.x[i], cdf = 0.5f * (1 + std::erf(x / std::numbers::sqrt2_v<float>));
    a.y[i] = x * cdf;
  }
  for (std::size_t i = 0; i < kSize; ++i) {
    const float x = a.x[i], cdf = 0.5f * (1 + std::erf(x / std::numbers::sqrt2_v<float>));
    const float pdf = std::exp(-0.5f * x * x) / std::sqrt(2 * std::numbers::pi_v<float>);
    a.dx[i] = x * (cdf + x * pdf);
  }
}

void plain_dropout(Arrays& a, bool residual) {
  const Rng rng(2);
  for (std::vector<float>* to : {&a.y, &a.dx}) {
    for (std::size_t i = 0; i < kSize; ++i) {
      const float factor = rng.uniform(i) < kRate ? 0 : float(1 / (1 - kRate));
      (*to)[i] = a.x[i] * factor + (residual ? a.x[i] : 0);
    }
  }
}

void plain_transpose(Arrays& a) {
  constexpr std::size_t kSamples = 32, kTokens = kRows / kSamples;
  for (std::vector<float>* to : {&a.y, &a.dx}) {
    for (std::size_t i = 0; i < kSize; ++i) {
      const std::size_t row = i / kWidth, sample = row / kTokens, token = row % kTokens;
      (*to)[(token * kSamples + sample) * kWidth + i % kWidth] = a.x[i];
    }
  }
}

void plain_add(Arrays& a) {
  for (std::size_t i = 0; i < kSize; ++i) a.y[i] = a.x[i] + a.x[i];
  for (std::size_t i = 0; i < kSize; ++i) a.dx[i] = a.x[i] + a.x[i];
}

using Op = Variable<float> (*)(const Variable<float>&);

// backward() takes dy by value. Unless dy is one number, this copy reads and writes a tensor.
void measure(benchmark::State& state, double tensors, Op op, void (*plain)(Arrays&)) {
  const Variable<float> x(uniform({32, kRows / 32, kWidth}), true);
  const Shape result = op(x).shape();
  const Tensor<float> dy = full(result, 0.5f);
  Arrays arrays;
  const double handed = dy.size() == 1 ? 0 : 2;
  in_turn(state,
          [&] {
            x.zero_grad();
            op(x).backward(dy);
          },
          {copy(tensors + handed, kSize), [&] { plain(arrays); }});
}

const Variable<float>& feature_weights() {
  static const Variable<float> weight(uniform({kWidth}), true);
  return weight;
}

struct Pass {
  const char* name;
  double tensors;  // read or written, of the input's size; if x is two inputs, its gradients add
  Op op;
  void (*plain)(Arrays&);
};

const Pass kPasses[] = {
    {"layer_norm", 5,
     [](const auto& x) { return layer_norm(x, feature_weights(), feature_weights(), 1e-5); },
     [](Arrays& a) { plain_norm(a, false); }},
    {"rms_norm", 5, [](const auto& x) { return rms_norm(x, feature_weights(), 1e-5); },
     [](Arrays& a) { plain_norm(a, true); }},
    {"softmax", 5, [](const auto& x) { return softmax(x); },
     [](Arrays& a) { plain_softmax(a, false); }},
    {"cross_entropy", 3,
     [](const auto& x) {
       return cross_entropy(x, zeros<std::int32_t>({32, kRows / 32}));
     },
     [](Arrays& a) { plain_softmax(a, true); }},
    {"gelu", 5, [](const auto& x) { return gelu(x); }, plain_gelu},
    {"dropout", 4,
     [](const auto& x) {
       return dropout(x, DropoutOptions{kRate, Rng(2), 0});
     },
     [](Arrays& a) { plain_dropout(a, false); }},
    {"dropout_add", 7,
     [](const auto& x) {
       return dropout_add(x, x, DropoutOptions{kRate, Rng(2), 0});
     },
     [](Arrays& a) { plain_dropout(a, true); }},
    {"transpose", 4,
     [](const auto& x) {
       return transpose(x, {1, 0, 2});
     },
     plain_transpose},
    {"add", 7, [](const auto& x) { return add(x, x); }, plain_add},
};

}  // namespace

void add_passes() {
  for (const Pass& pass : kPasses) {
    add(pass.name,
        [&pass](benchmark::State& state) { measure(state, pass.tensors, pass.op, pass.plain); });
  }
}

}  // namespace xgrad::bench

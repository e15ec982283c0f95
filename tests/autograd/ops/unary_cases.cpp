#include <cmath>

#include "autograd/op_table.hpp"

namespace xgrad::test {

namespace {

// Within [-range, range], 0.1 and more away from 0 where `kink` asks for it. The first element is
// of size 1 or less, for the derivative must not vanish everywhere.
template <class F>
OpCase elementwise(const char* op, const char* variant, double range, bool kink, F f) {
  const auto sample = [=](const Rng& rng, std::size_t n) {
    Tensor<double> x =
        random_tensor({random_size(rng / "rows", 1, 3), n}, rng / "x", -range, range);
    x.data()[0] /= range;
    for (std::size_t i = 0; kink && i < x.size(); ++i) x.data()[i] += x.data()[i] < 0 ? -0.1 : 0.1;
    if (kink) x.data()[0] = 0.1 + rng.uniform(0);
    return Sample(f, {x});
  };
  return {.op = op, .variant = variant, .sample = sample, .terms = 1};
}

// Within [0.5, 3), away from the singular point 0.
template <class F>
OpCase above_zero(const char* op, F f) {
  const auto sample = [f](const Rng& rng, std::size_t n) {
    const Shape shape{random_size(rng / "rows", 1, 3), n};
    return Sample(f, {random_tensor(shape, rng / "x", 0.5, 3)});
  };
  return {.op = op, .sample = sample, .terms = 1};
}

// Within [-3, 3), away from the kinks at -1 and 1.5. The first element is inside.
OpCase clamp_case() {
  const auto sample = [](const Rng& rng, std::size_t n) {
    Tensor<double> x = random_tensor({random_size(rng / "rows", 1, 3), n}, rng / "x", -3, 3);
    x.data()[0] = 0.4 * rng.uniform(0);
    for (double& v : x) {
      for (const double kink : {-1.0, 1.5}) {
        if (std::fabs(v - kink) < 0.1) v = kink + (v < kink ? -0.1 : 0.1);
      }
    }
    return Sample([](const auto& in) { return clamp(in[0], -1, 1.5); }, {x});
  };
  return {.op = "clamp", .sample = sample, .wrong_calls = {[] { clamp(ones({2}), 1, 0); }}};
}

}  // namespace

std::vector<OpCase> unary_cases() {
  const auto relu_of = [](const auto& x) { return relu(x[0]); };
  const auto symlog_of = [](const auto& x) { return symlog(x[0]); };
  const auto tanh_of = [](const auto& x) { return tanh(x[0]); };
  const auto sigmoid_of = [](const auto& x) { return sigmoid(x[0]); };
  const auto silu_of = [](const auto& x) { return silu(x[0]); };
  const auto exact = [](const auto& x) { return gelu(x[0]); };
  const auto approximate = [](const auto& x) { return gelu(x[0], Gelu::tanh); };
  return {
      elementwise("relu", "", 3, true, relu_of),
      elementwise("relu", "extreme", 1e4, true, relu_of),
      elementwise("exp", "", 3, false, [](const auto& x) { return exp(x[0]); }),
      above_zero("log", [](const auto& x) { return log(x[0]); }),
      above_zero("sqrt", [](const auto& x) { return sqrt(x[0]); }),
      clamp_case(),
      elementwise("symlog", "", 3, true, symlog_of),
      elementwise("symlog", "extreme", 1e4, true, symlog_of),
      elementwise("tanh", "", 3, false, tanh_of),
      elementwise("tanh", "extreme", 100, false, tanh_of),
      elementwise("sigmoid", "", 3, false, sigmoid_of),
      elementwise("sigmoid", "extreme", 100, false, sigmoid_of),
      elementwise("silu", "", 3, false, silu_of),
      elementwise("silu", "extreme", 100, false, silu_of),
      elementwise("gelu", "exact", 3, false, exact),
      elementwise("gelu", "exact_extreme", 100, false, exact),
      elementwise("gelu", "tanh", 3, false, approximate),
      elementwise("gelu", "tanh_extreme", 100, false, approximate),
  };
}

}  // namespace xgrad::test

// The table of ops: a row makes an op's tests. See ops/arithmetic_cases.cpp for how a row is
// written.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <xgrad/autograd/ops.hpp>

#include "support/tensors.hpp"

namespace xgrad::test {

/// An op applied to random inputs: the function in three scalars, and where to evaluate it.
struct Sample {
  /// f is written once: [=](const auto& x) { return softmax(x[0]); }, x a vector of Variables of
  /// any scalar.
  template <class F>
  Sample(F f, std::vector<Tensor<double>> inputs)
      : inputs(std::move(inputs)), in_float(f), in_double(f), reference(f) {}

  template <class T>
  using Function = std::function<Variable<T>(const std::vector<Variable<T>>&)>;

  std::vector<Tensor<double>> inputs;
  Function<float> in_float;
  Function<double> in_double;
  Function<long double> reference;
};

struct OpCase {
  std::string op = {};       ///< what its name() says
  std::string variant = {};  ///< letters and digits; empty where an op has one row
  /// A case that depends on rng alone. `n` is the extent along which the op's inner loop runs:
  /// gradients are checked for n in 1 ... 5, float against double for n in 1 ... 67, numbers of
  /// threads against each other for n = `large`. Keep all other extents at 1 ... 3 and stay at a
  /// distance of 0.1 from kinks.
  std::function<Sample(const Rng& rng, std::size_t n)> sample = {};
  /// Calls that must throw ShapeError, its message starting with "<op>:". One row of every op that
  /// does not accept any shape has some.
  std::vector<std::function<void()>> wrong_calls = {};
  /// Samples with an extent of 0 that `sample` cannot give, since the function holds a shape, a
  /// mask or ids: all other rows are tried with each extent of `sample` set to 0.
  std::vector<Sample> zero_extents = {};
  /// Allowed difference of float from double, in units of float's epsilon times the largest of: the
  /// |values| of the tensor, 1/16 of those of the other gradients and the result, and `terms`.
  double float_tolerance = 64;
  /// The size of what the op adds up, where the terms may cancel.
  double terms = 0;
  /// An n at which the op runs in several parallel blocks; less where the work grows as its square.
  std::size_t large = 20011;
};

/// The row's name in a failure.
inline void PrintTo(const OpCase& row, std::ostream* out) {
  *out << row.op << ' ' << row.variant;
}

/// All rows. A new family of ops adds its function here and in op_table.cpp.
const std::vector<OpCase>& op_cases();

std::vector<OpCase> arithmetic_cases();
std::vector<OpCase> attention_cases();
std::vector<OpCase> dropout_cases();
std::vector<OpCase> embedding_cases();
std::vector<OpCase> loss_cases();
std::vector<OpCase> many_rows_cases();
std::vector<OpCase> normalisation_cases();
std::vector<OpCase> position_cases();
std::vector<OpCase> product_cases();
std::vector<OpCase> reduce_cases();
std::vector<OpCase> score_cases();
std::vector<OpCase> shape_cases();
std::vector<OpCase> unary_cases();

/// A constant of this shape, for calls whose shapes are wrong.
inline Variable<double> ones(const Shape& shape) {
  return Variable<double>(full(shape, 1.0));
}

}  // namespace xgrad::test

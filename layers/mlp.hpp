// Mlp: Linear, activation, dropout, Linear, for each token on its own.
#pragma once

#include <xgrad/layers/linear.hpp>

namespace xgrad {

/// The activation between the two linear maps; gelu_tanh is GELU's tanh approximation.
enum class Activation { gelu, gelu_tanh, relu, silu };

/// dropout(activation(linear(x))), as one fused op where one exists.
template <class T>
Variable<T> activated(const Variable<T>& x, const Linear<T>& linear, Activation activation,
                      const DropoutOptions& dropout);

/// x (..., D) -> (..., D): linear2(dropout(activation(linear1(x)))), hidden width F.
///
/// The dropout after linear2 belongs to the residual that follows (dropout_add).
template <class T>
class Mlp {
 public:
  /// Makes its parameters below `scope`.
  Mlp(const Scope<T>& scope, std::size_t width, std::size_t hidden, Activation activation,
      double dropout);

  /// x (..., D) -> (..., D).
  Variable<T> operator()(const Variable<T>& x, const Context& context) const;

 private:
  std::uint64_t id_;          // of the module itself
  std::uint64_t dropout_id_;  // of its dropout
  Linear<T> linear1_;
  Linear<T> linear2_;
  Activation activation_;
  double dropout_;
};

}  // namespace xgrad

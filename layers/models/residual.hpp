// Residual: the residual connection around a sublayer, with norm and dropout.
#pragma once

#include <optional>
#include <string>

#include <xgrad/layers/norm.hpp>

namespace xgrad {

/// Where a block normalises: before each sublayer, after each residual, before and after each
/// sublayer, or nowhere.
enum class NormOrder { pre, post, sandwich, none };

/// Options of a Residual.
struct ResidualOptions {
  std::size_t width = 0;             ///< D
  NormOrder order = NormOrder::pre;  ///< where it normalises
  NormOptions norm = {};             ///< options of its norms
  double dropout = 0;                ///< dropout rate of the sublayer's result
  double stochastic_depth = 0;       ///< rate at which training skips the sublayer
};

/// A residual connection around a sublayer f. Norms and dropout are named by the sublayer's number,
/// here 1:
///
///     pre:         x + dropout1(f(norm1(x)))
///     post:        norm1(x + dropout1(f(x)))
///     sandwich:    x + dropout1(norm1_post(f(norm1(x)))), Ding et al. 2021
///     none:        x + dropout1(f(x))
///
/// Stochastic depth (Huang et al. 2016) multiplies what is added to x by 0 for some examples, and
/// by 1 / (1 - rate) for the others, as torchvision.ops.stochastic_depth in mode "row".
template <class T>
class Residual {
 public:
  /// Makes its norms below `scope`: norm1 for number 1.
  Residual(const Scope<T>& scope, int number, const ResidualOptions& options);

  /// x (B, N, D) -> (B, N, D), with `sublayer` as f. The norms use the mask (B, N); null: no
  /// padding.
  template <class Sublayer>
  Variable<T> operator()(const Variable<T>& x, const SharedMask& mask, const Context& context,
                         const Sublayer& sublayer) const {
    return finish(sublayer(before_ ? (*before_)(x, mask) : x), x, mask, context);
  }

 private:
  Variable<T> finish(Variable<T> y, const Variable<T>& x, const SharedMask& mask,
                     const Context& context) const;

  double dropout_, stochastic_depth_;
  std::uint64_t id_, depth_id_;
  std::optional<Norm<T>> before_, inside_, after_;
};

}  // namespace xgrad

// Residual: what stands around a sublayer, in every order of norm and addition.
#pragma once

#include <optional>
#include <string>

#include <xgrad/layers/norm.hpp>

namespace xgrad {

/// Where a block normalises: before each sublayer, after each residual, before and after each
/// sublayer, or nowhere.
enum class NormOrder { pre, post, sandwich, none };

/// What is around a sublayer.
struct ResidualOptions {
  std::size_t width = 0;             ///< D
  NormOrder order = NormOrder::pre;  ///< where it normalises
  NormOptions norm = {};             ///< of its norms
  double dropout = 0;                ///< of what the sublayer gives
};

/// A sublayer f with its residual; the norms and the dropout bear the sublayer's number:
///
///     pre (S1.3):  x + dropout1(f(norm1(x)))
///     post:        norm1(x + dropout1(f(x)))
///     sandwich:    x + dropout1(norm1_post(f(norm1(x)))), Ding et al. 2021
///     none:        x + dropout1(f(x))
template <class T>
class Residual {
 public:
  /// Makes its norms below `scope`: norm1 for number 1.
  Residual(const Scope<T>& scope, int number, const ResidualOptions& options);

  /// x (B, N, D) -> (B, N, D), by what `sublayer` makes of x or of its norm. The mask (B, N) is
  /// that of the norms; null: every place holds a token.
  template <class Sublayer>
  Variable<T> operator()(const Variable<T>& x, const std::shared_ptr<const Mask>& mask,
                         const Context& context, const Sublayer& sublayer) const {
    return finish(sublayer(before_ ? (*before_)(x, mask) : x), x, mask, context);
  }

 private:
  Variable<T> finish(Variable<T> y, const Variable<T>& x, const std::shared_ptr<const Mask>& mask,
                     const Context& context) const;

  double dropout_;
  std::uint64_t site_;
  std::optional<Norm<T>> before_, inside_, after_;
};

}  // namespace xgrad

// The scalar type that a config trains in.
#pragma once

#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// Calls `f.operator()<T>()` with T = float or double, as train.precision says.
template <class F>
auto with_precision(const Config& config, const F& f) {
  return config.train.precision == "double" ? f.template operator()<double>()
                                            : f.template operator()<float>();
}

}  // namespace xgrad

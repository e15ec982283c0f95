// Autocast: matrix products in mixed precision, that is with operands of bfloat16.
#pragma once

#include <xgrad/autograd/scoped.hpp>

namespace xgrad {

/// While an Autocast lives, this thread computes matrix products of float in mixed precision: it
/// rounds both operands to bfloat16 and adds in float. The backward of an op does the same as its
/// forward, on any thread. Everything else stays in float; ops on double do not change. The ops are
/// linear, linear_gelu, matmul, attention and self_attention; attention_scores() and
/// attention_probabilities() round as attention does.
class Autocast : detail::Scoped<bool> {
 public:
  /// With `on` false, products inside an outer Autocast are in float.
  explicit Autocast(bool on = true);
};

/// Whether this thread computes products of float matrices in bfloat16.
bool autocast_enabled();

}  // namespace xgrad

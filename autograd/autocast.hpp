// Autocast: matrix products in mixed precision, that is with operands of bfloat16.
#pragma once

#include <xgrad/autograd/scoped.hpp>

namespace xgrad {

/// While an Autocast lives, ops of this thread that multiply matrices of float round both operands
/// to bfloat16 and add in float. An op remembers this for its backward, which may run on any
/// thread. Everything else stays in float; ops on double do not change. The ops are linear,
/// linear_gelu, matmul, attention and self_attention; attention_scores() and
/// attention_probabilities() round as attention does.
class Autocast : detail::Scoped<bool> {
 public:
  /// With `on` false, products inside an outer Autocast are in float.
  explicit Autocast(bool on = true);
};

/// Whether products of float of this thread are in bfloat16.
bool autocast_enabled();

}  // namespace xgrad

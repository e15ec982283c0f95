// Autocast: matrix products in mixed precision, that is with bfloat16 operands.
#pragma once

#include <xgrad/autograd/scoped.hpp>

namespace xgrad {

/// While an Autocast lives, this thread's matrix products of float round both operands to bfloat16
/// and add in float. This holds for the ops linear, linear_gelu, matmul, attention and
/// self_attention. attention_scores() and attention_probabilities() round as attention does.
/// Everything else stays in float, and ops on double do not change. The backward of an op rounds if
/// the forward of this op did, on any thread.
class Autocast : detail::Scoped<bool> {
 public:
  /// If `on` is false, products are in float, even inside an outer Autocast.
  explicit Autocast(bool on = true);
};

/// Whether this thread's matrix products of float round their operands to bfloat16.
bool autocast_enabled();

}  // namespace xgrad

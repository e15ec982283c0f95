// The metrics of a whole from those of its shards.
#pragma once

#include <vector>

#include <xgrad/train/metrics/metrics.hpp>
#include <xgrad/train/ranks/ranks.hpp>

namespace xgrad {

/// The metrics of all shards together, added in the order of the shards. `own` are those of this
/// rank's shards, in order.
Metrics add_up(Ranks& ranks, const std::vector<Metrics>& own);

}  // namespace xgrad

// The rows of metrics.jsonl and timing.jsonl.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <xgrad/train/metrics.hpp>

namespace xgrad {

/// {"step": 100, "split": "train", "loss": ..., "loss_se": ..., ...}. Holds no times, so that two
/// equal runs give equal files; numbers are written so that they read back exactly. Learning rate
/// and gradient norm for training rows.
std::string metrics_row(std::uint64_t step, const std::string& split, const Metrics& metrics,
                        std::optional<double> lr = {}, std::optional<double> grad_norm = {});

/// {"step": 100, "seconds": ..., "tokens_per_second": ...}
std::string timing_row(std::uint64_t step, double seconds, double tokens_per_second);

/// The step of a row; the largest number for a line that is none, and for the row of the test
/// split, which a finished run writes anew whenever it is resumed.
std::uint64_t row_step(const std::string& line);

}  // namespace xgrad

// Scores of a trained model by the length of its examples.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <xgrad/train/checkpoint/find_run.hpp>
#include <xgrad/train/metrics/metrics.hpp>

namespace xgrad::commands {

/// Parses "4:512" as 4, 8, 16, ... 512 (each twice the one before, and the last), and "4:20:8" as
/// 4, 12, 20. Throws ConfigError.
std::vector<std::size_t> parse_lengths(const std::string& text);

/// The score on examples of one length, or on those from `shortest` to `length`.
struct LengthScore {
  std::size_t shortest = 0, length = 0;
  std::size_t examples = 0;
  Metrics metrics = {};
  std::string why_not = {};  ///< why there is no score; otherwise empty
};

/// Evaluates a run's model on a split, once for each length. A task with a key `length` draws
/// examples of exactly that length, also beyond those of training. Other tasks have the examples
/// that they have: each score is over those longer than the length before. Calls
/// progress(length, total) before each. Throws ConfigError if the examples have no length.
std::vector<LengthScore> score_lengths(
    const FoundRun& source, Split split, const std::vector<std::size_t>& lengths,
    const std::function<void(std::size_t done, std::size_t total)>& progress);

/// The scores as a table, with the reasons for missing ones below.
std::string to_text(const std::vector<LengthScore>& scores);
/// {"lengths": [{"length": 4, "examples": 1000, "step": 500, "split": "test", "loss": ...}, ...]},
/// without lengths that have no score; "shortest" comes first where a score is over several.
std::string to_json(const std::vector<LengthScore>& scores, std::uint64_t step,
                    const std::string& split);
/// An SVG file that draws the most important metric over the lengths: a line for each run.
std::string to_svg(const std::vector<std::pair<std::string, std::vector<LengthScore>>>& runs);

}  // namespace xgrad::commands

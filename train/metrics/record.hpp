// RunRecord: what the files of a run directory say of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <xgrad/train/config/config.hpp>
#include <xgrad/train/metrics/rows.hpp>

namespace xgrad {

struct RunRecord {
  enum class State { finished, failed, unfinished };

  std::string path;
  std::string config_text;
  Config config;
  std::vector<MetricsRow> rows;  ///< of metrics.jsonl
  State state = State::unfinished;
  std::string failure;  ///< of a failed run: what it said
  std::uint64_t last_step = 0;
  double seconds = 0, rate = 0;  ///< of timing.jsonl's last row; 0 where there is none

  /// The row of a split with the highest step; null where there is none.
  const MetricsRow* last(const std::string& split) const;
};

/// How a failed run says so, as the last line of log.txt.
std::string failure_line(const std::string& message);

/// Throws IoError when the directory holds no run, ConfigError when its config is none.
RunRecord read_run(const std::string& directory);

}  // namespace xgrad

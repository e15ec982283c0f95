// Console: what a person sees of a run, on standard error.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/train/metrics/metrics.hpp>

namespace xgrad {

/// A table of what will run, a row for each evaluation and, on a terminal, one progress line.
/// Without a terminal: plain rows only, no control characters. NO_COLOR is honoured.
class Console {
 public:
  /// `unit` is what a rate counts: "tokens" or "images".
  Console(bool quiet, std::string unit);

  /// Rows of "name  value", aligned.
  void table(const std::vector<std::pair<std::string, std::string>>& rows);

  /// What the progress line shows.
  struct Progress {
    std::uint64_t step = 0;   ///< steps taken
    std::uint64_t total = 0;  ///< those of the run
    double loss = 0;          ///< of the step
    double lr = 0;            ///< of the step
    double rate = 0;          ///< units a second
    double seconds_left = 0;  ///< at this rate
  };
  /// Draws the progress line, at most ten times a second; nothing without a terminal.
  void progress(const Progress& progress);
  /// Draws how far a file has been read, as progress() does; nothing once all is.
  void reading(const std::string& path, std::uint64_t read, std::uint64_t size);
  /// Appends the row of an evaluation, with the column heads above the first.
  std::string evaluation(const Progress& progress, const Metrics& validation);
  /// Appends a line.
  void line(const std::string& text);

 private:
  void draw(const std::string& text);
  bool is_time_to_draw();
  void clear_progress();

  bool quiet_;
  std::string unit_;
  bool terminal_;
  bool heads_shown_ = false;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_drawn_{};
};

}  // namespace xgrad

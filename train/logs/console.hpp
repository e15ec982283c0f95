// Console: the display of a run on standard error.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <xgrad/train/metrics/metrics.hpp>

namespace xgrad {

/// Shows lines, a row per evaluation and, on a terminal, a progress line. Without a terminal,
/// writes no control characters. Uses no colours.
class Console {
 public:
  /// `unit` is the unit of rates: "tokens" or "images".
  Console(bool quiet, std::string unit);

  /// Contents of the progress line.
  struct Progress {
    std::uint64_t step = 0;   ///< steps taken
    std::uint64_t total = 0;  ///< steps of the whole run
    double loss = 0;          ///< loss of the step
    double lr = 0;            ///< learning rate of the step
    double rate = 0;          ///< units per second
    double seconds_left = 0;  ///< remaining time at this rate
  };
  /// Draws the progress line, at most ten times a second. Does nothing without a terminal.
  void progress(const Progress& progress);
  /// Draws how much of a file has been read, in bytes, like progress(). Clears the line at the end.
  void reading(const std::string& path, std::uint64_t read, std::uint64_t size);
  /// Draws "WHAT: 3 of 8 UNIT" for done = 3 * `of` and total = 8 * `of`, where `of` is the size
  /// of a UNIT. Clears the line at the end.
  void counting(const std::string& what, std::uint64_t done, std::uint64_t total, const char* unit,
                std::uint64_t of = 1);
  /// Contents of the progress line of a sweep.
  struct Runs {
    std::size_t done = 0;             ///< runs that ended
    std::size_t total = 0;            ///< runs to train
    std::size_t running = 0;          ///< runs that train now
    std::optional<double> best = {};  ///< lowest validation loss of the runs that ended
    std::optional<double> left = {};  ///< estimate of the remaining seconds
  };
  /// Draws the progress line of a sweep, like progress(). Clears the line when all runs are done.
  void runs(const Runs& runs);
  /// Prints the row of an evaluation, the first time below column headings. Returns the row.
  std::string evaluation(const Progress& progress, const Metrics& validation);
  /// Prints a line.
  void line(const std::string& text);

 private:
  template <class Text>
  void draw(double part, const Text& text);
  void clear_progress();

  bool quiet_;
  std::string unit_;
  bool terminal_;
  bool heads_shown_ = false;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_drawn_{};
};

}  // namespace xgrad

// WatchRule: reports the progress of fitting and measuring a rule.
#pragma once

#include <functional>
#include <string>
#include <utility>

namespace xgrad {

/// While an instance is alive, each row that a rule reads on this thread calls `watch` with the
/// rows done and their total. An exception from `watch` aborts the rule.
class WatchRule {
 public:
  /// Callback for progress.
  using Watch = std::function<void(const std::string& rule, std::size_t done, std::size_t rows)>;

  /// Starts reporting to `watch`, until destruction.
  explicit WatchRule(Watch watch)
      : watch_(std::move(watch)), before_(std::exchange(current, this)) {}
  ~WatchRule() { current = before_; }
  WatchRule(const WatchRule&) = delete;
  WatchRule& operator=(const WatchRule&) = delete;

  /// Calls the innermost watcher of this thread, if any.
  static void tell(const std::string& rule, std::size_t done, std::size_t rows) {
    if (current != nullptr) current->watch_(rule, done, rows);
  }

 private:
  static inline thread_local WatchRule* current = nullptr;

  Watch watch_;
  WatchRule* before_;
};

}  // namespace xgrad

// WatchProgress: reports the progress of slow work on data.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace xgrad {

/// While an instance is alive, work on this thread calls `watch` with the name of the work, the
/// amount done and the total. When a file is read, the amounts are bytes, and `watch` is called
/// after each block of the file. When an n-gram rule is measured, or a naive Bayes rule is fitted
/// or measured, the amounts are rows, and `watch` is called for each row. An exception from `watch`
/// ends the work.
class WatchProgress {
 public:
  /// Callback for progress.
  using Watch = std::function<void(const std::string& of, std::uint64_t done, std::uint64_t whole)>;

  /// Starts reporting to `watch`, until destruction.
  explicit WatchProgress(Watch watch)
      : watch_(std::move(watch)), before_(std::exchange(current, this)) {}
  ~WatchProgress() { current = before_; }
  WatchProgress(const WatchProgress&) = delete;
  WatchProgress& operator=(const WatchProgress&) = delete;

  /// Calls the innermost watcher of this thread, if any.
  static void tell(const std::string& of, std::uint64_t done, std::uint64_t whole) {
    if (current != nullptr) current->watch_(of, done, whole);
  }

 private:
  static inline thread_local WatchProgress* current = nullptr;

  Watch watch_;
  WatchProgress* before_;
};

}  // namespace xgrad

// WatchProgress: reports the progress of work on data that takes long.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace xgrad {

/// While an instance is alive, work on this thread calls `watch` with what it works on, how much is
/// done, and the whole: bytes while a file is read, after each MiB and at its end, and rows while a
/// rule is fitted and measured, after each. An exception from `watch` ends the work.
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

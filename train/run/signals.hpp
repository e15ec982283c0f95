// Signals: requests to stop or save. A run looks for them between steps and between batches, so no
// signal interrupts a step.
#pragma once

#include <csignal>
#include <cstddef>
#include <iterator>

namespace xgrad {

/// While an object lives, SIGINT and SIGTERM request a stop, and SIGUSR1 requests a save. SIGXFSZ
/// and SIGPIPE are ignored, so that writes fail with an error instead. The destructor restores the
/// previous handlers. Only one object may exist at a time.
class Signals {
 public:
  Signals() {
    stop_ = 0;
    save_ = 0;
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
      const bool ignored = kSignals[i] == SIGXFSZ || kSignals[i] == SIGPIPE;
      struct sigaction action = {};
      action.sa_handler =
          ignored ? SIG_IGN : [](int signal) { (signal == SIGUSR1 ? save_ : stop_) = signal; };
      action.sa_flags = SA_RESTART;
      sigaction(kSignals[i], &action, &before_[i]);
    }
  }
  ~Signals() {
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
      sigaction(kSignals[i], &before_[i], nullptr);
    }
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// The signal that requested a stop; 0: none.
  int stop() const { return stop_; }
  /// Returns whether a save was requested since the last call.
  bool take_save() {
    const bool asked = save_ != 0;
    save_ = 0;
    return asked;
  }

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGUSR1, SIGXFSZ, SIGPIPE};
  static inline volatile std::sig_atomic_t stop_ = 0, save_ = 0;
  struct sigaction before_[std::size(kSignals)];
};

}  // namespace xgrad

// Signals: requests to stop or save, polled between steps and batches, never handled inside one.
#pragma once

namespace xgrad {

/// During its lifetime, SIGINT and SIGTERM request a stop, SIGUSR1 requests a save, and SIGXFSZ and
/// SIGPIPE are ignored so that writes fail with an error instead. The destructor restores the
/// previous handlers. Only one object may exist at a time.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// The signal that requested a stop; 0: none.
  int stop() const;
  /// Returns whether a save was requested since the last call.
  bool take_save();
};

}  // namespace xgrad

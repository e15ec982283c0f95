// Signals: asked about between steps and batches, never acted on inside one.
#pragma once

namespace xgrad {

/// While one lives, SIGINT and SIGTERM ask to stop, SIGUSR1 asks to save, and SIGXFSZ and SIGPIPE
/// are ignored so that writing fails with an error instead. Restores what was there before. One at
/// a time.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// The signal that asked to stop; 0: none.
  int stop() const;
  /// From here on SIGINT and SIGTERM do what they did before.
  void let_stop();
  /// Whether a save was asked for since the last call.
  bool take_save();
};

}  // namespace xgrad

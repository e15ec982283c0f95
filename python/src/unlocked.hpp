// Unlocked: computing while other threads have the interpreter.
#pragma once

#include <nanobind/nanobind.h>

namespace xgrad::python {

/// Gives the interpreter lock away for its lifetime.
///
/// An interpreter that ends kills a thread that asks for its lock, which C++ cannot survive. So
/// leave() waits for every Unlocked of other threads, and later ones wait until the process ends.
class Unlocked {
 public:
  Unlocked();
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* thread_;
};

/// Called once, when the interpreter begins to end.
void leave();
/// Whether leave() has been called.
bool leaving();

}  // namespace xgrad::python

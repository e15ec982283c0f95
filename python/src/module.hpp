// The parts of the module xgrad._core, and Unlocked, which lets other Python threads run while this
// thread computes.
#pragma once

#include <nanobind/nanobind.h>

namespace xgrad::python {

struct Var;  // arrays.hpp

/// Releases the GIL for its lifetime.
///
/// When the interpreter ends, it kills threads that ask for the GIL, and killing a thread inside
/// C++ crashes the process. So leave() waits until all other threads have destroyed their Unlocked
/// objects. If a thread makes an Unlocked after that, the thread waits until the process ends.
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

/// Adds Variable, no_grad, grad_enabled, Rng and the ops to the module.
void add_variable(nanobind::module_& m);
/// Adds the functions of ops.hpp, and methods of Variable for them. op_table.py generates this
/// function.
void add_functions(nanobind::module_& m, nanobind::class_<Var>& variable);
/// Adds Module, layers and optimizers.
void add_layers(nanobind::module_& m);
/// Adds Model and Prediction.
void add_model(nanobind::module_& m);
/// Adds Step, and the functions of xgrad/runs.py that train, resume, sweep and check gradients.
void add_runs(nanobind::module_& m);

}  // namespace xgrad::python

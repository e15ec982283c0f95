// The parts of the module xgrad._core.
#pragma once

#include <nanobind/nanobind.h>

namespace xgrad::python {

struct Var;

/// Adds Variable, no_grad, grad_enabled and Rng to the module.
nanobind::class_<Var> add_variable(nanobind::module_& m);
/// Adds the functions of ops.hpp; op_table.py writes it.
void add_functions(nanobind::module_& m);
/// Adds the ops, and the operators of Variable.
void add_ops(nanobind::module_& m, nanobind::class_<Var>& variable);
/// Adds Model and Prediction.
void add_model(nanobind::module_& m);
/// Adds Step, and the functions of xgrad/runs.py that train, resume, sweep and check gradients.
void add_runs(nanobind::module_& m);

}  // namespace xgrad::python

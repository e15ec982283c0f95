// Training, resuming, sweeping and checking gradients, for the functions of xgrad/runs.py.
#pragma once

#include <nanobind/nanobind.h>

namespace xgrad::python {

/// Adds Step, _leave, _set_command, _train, _resume, _sweep and _gradcheck to the module.
void add_runs(nanobind::module_& m);

}  // namespace xgrad::python

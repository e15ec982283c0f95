// Model: a trained model, as Python sees it.
#pragma once

#include <nanobind/nanobind.h>

namespace xgrad::python {

/// Adds Model and Prediction to the module.
void add_model(nanobind::module_& m);

}  // namespace xgrad::python

// The module xgrad._core.
#include <nanobind/nanobind.h>

#include <xgrad/python/src/errors.hpp>
#include <xgrad/python/src/variable.hpp>

NB_MODULE(_core, m) {
  using namespace xgrad::python;
  add_errors();
  auto variable = add_variable(m);
  add_ops(m, variable);
}

// The module xgrad._core.
#include <xgrad/python/src/module.hpp>
#include <xgrad/python/src/variable.hpp>
#include <xgrad/version.hpp>

NB_MODULE(_core, m) {
  using namespace xgrad::python;
  nanobind::set_leak_warnings(false);  // threads that wait for the end of the process keep objects
  m.attr("__version__") = xgrad::kVersion;
  add_errors();
  auto variable = add_variable(m);
  add_ops(m, variable);
  add_model(m);
  add_runs(m);
}

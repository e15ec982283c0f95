// The module xgrad._core, its errors, and how computing shares the interpreter.
#include <xgrad/python/src/module.hpp>

#include <unistd.h>

#include <atomic>
#include <exception>
#include <shared_mutex>

#include <xgrad/autograd/check.hpp>
#include <xgrad/python/src/arrays.hpp>
#include <xgrad/storage/formats/tensors.hpp>
#include <xgrad/version.hpp>

namespace nb = nanobind;

namespace xgrad::python {

namespace {

std::atomic<bool> left = false;
thread_local int depth = 0;  // number of nested Unlocked objects: a callback may compute, too
const pid_t process = ::getpid();

// Shared by threads that compute. Never destroyed, since they may outlive static objects.
std::shared_mutex& gate() {
  static std::shared_mutex& mutex = *new std::shared_mutex;
  return mutex;
}

const char* class_of(const std::exception& error) {
  if (dynamic_cast<const ShapeError*>(&error)) return "ShapeError";
  if (dynamic_cast<const GradientError*>(&error)) return "GradientError";
  if (dynamic_cast<const ConfigError*>(&error)) return "ConfigError";
  if (dynamic_cast<const DataError*>(&error)) return "DataError";
  if (dynamic_cast<const CheckpointError*>(&error)) return "CheckpointError";
  if (dynamic_cast<const FormatError*>(&error)) return "CheckpointError";  // of exported weights
  if (dynamic_cast<const NumericError*>(&error)) return "NumericError";
  if (dynamic_cast<const IoError*>(&error)) return "IoError";
  if (dynamic_cast<const LockError*>(&error)) return "LockError";
  if (dynamic_cast<const OutOfMemory*>(&error)) return "OutOfMemory";
  return "Error";
}

// Converts an exception of xgrad to the Python class of the same name in xgrad.errors, with the
// same message.
void translate(const std::exception_ptr& caught, void*) {
  const auto raise = [](const std::exception& error) {
    const nb::object type = nb::module_::import_("xgrad.errors").attr(class_of(error));
    PyErr_SetString(type.ptr(), error.what());
  };
  try {
    std::rethrow_exception(caught);
  } catch (const Error& error) {
    raise(error);
  } catch (const OutOfMemory& error) {
    raise(error);
  }
}

}  // namespace

Unlocked::Unlocked() : thread_(PyEval_SaveThread()) {
  if (depth++ > 0) return;
  while (left) ::pause();
  gate().lock_shared();
}

Unlocked::~Unlocked() {
  PyEval_RestoreThread(thread_);
  if (--depth == 0) gate().unlock_shared();
}

void leave() {
  if (::getpid() != process) return;  // a fork has no other threads, but keeps their locks
  left = true;
  ++depth;  // this thread may still compute
  PyThreadState* const thread = PyEval_SaveThread();
  gate().lock();
  PyEval_RestoreThread(thread);
}

bool leaving() {
  return left;
}

}  // namespace xgrad::python

NB_MODULE(_core, m) {
  using namespace xgrad::python;
  nb::set_leak_warnings(false);  // threads that wait for the end of the process keep objects
  m.attr("__version__") = xgrad::kVersion;
  nb::register_exception_translator(&translate);
  add_variable(m);
  add_layers(m);
  add_model(m);
  add_runs(m);
}

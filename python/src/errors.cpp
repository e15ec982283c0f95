#include <nanobind/nanobind.h>

#include <exception>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/memory/out_of_memory.hpp>
#include <xgrad/python/src/module.hpp>
#include <xgrad/storage/formats/tensors.hpp>

namespace nb = nanobind;

namespace xgrad::python {

namespace {

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

void raise(const std::exception& error) {
  const nb::object type = nb::module_::import_("xgrad.errors").attr(class_of(error));
  PyErr_SetString(type.ptr(), error.what());
}

void translate(const std::exception_ptr& caught, void*) {
  try {
    std::rethrow_exception(caught);
  } catch (const Error& error) {
    raise(error);
  } catch (const OutOfMemory& error) {
    raise(error);
  }
}

}  // namespace

void add_errors() {
  nb::register_exception_translator(&translate);
}

}  // namespace xgrad::python

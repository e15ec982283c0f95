#include <xgrad/python/src/arrays.hpp>

#include <nanobind/ndarray.h>

#include <algorithm>
#include <string_view>

namespace nb = nanobind;

namespace xgrad::python {

static std::string text_of(nb::handle object) {
  return nb::cast<std::string>(nb::str(object));
}

// The array in row-major order with aligned elements of this dtype; the same object if it already
// is.
static nb::object in_order(nb::handle array, const char* dtype) {
  return nb::module_::import_("numpy").attr("require")(array, dtype, "CA");
}

template <class T>
using View = nb::ndarray<const T, nb::c_contig>;

template <class T>
static Shape shape_of(const View<T>& view) {
  Shape shape(view.ndim());
  for (std::size_t i = 0; i < view.ndim(); ++i) shape[i] = view.shape(i);
  return shape;
}

// Copies the elements of an array of this dtype, which holds S.
template <class T, class S>
static Tensor<T> copied(nb::handle array, const char* dtype) {
  const auto view = nb::cast<View<S>>(in_order(array, dtype));
  Tensor<T> result = empty<T>(shape_of(view));
  std::transform(view.data(), view.data() + result.size(), result.data(),
                 [](S x) { return static_cast<T>(x); });
  return result;
}

// NumPy's character for a kind of elements: b, i, u, f ...
static char kind_of(nb::handle array) {
  return nb::cast<std::string>(array.attr("dtype").attr("kind"))[0];
}

// numpy.asarray(value). Throws TypeError unless its elements are of one of these kinds.
static nb::object array_of(nb::handle value, std::string_view kinds, const char* expected) {
  const nb::object array = as_array(value);
  if (kinds.find(kind_of(array)) != kinds.npos) return array;
  throw nb::type_error(
      ("expected " + std::string(expected) + ", got " + text_of(array.attr("dtype"))).c_str());
}

nb::object as_array(nb::handle value) {
  return nb::module_::import_("numpy").attr("asarray")(value);
}

bool is_number(nb::handle value) {
  return PyLong_Check(value.ptr()) || PyFloat_Check(value.ptr());
}

bool is_single(nb::handle value) {
  const nb::object array = as_array(value);
  const auto size = nb::cast<std::size_t>(array.attr("dtype").attr("itemsize"));
  const bool scalar = kind_of(array) == 'f' && (size == sizeof(float) || size == sizeof(double));
  if (!scalar && !is_number(value)) {
    throw nb::type_error(("expected an array of float32 or float64, got " +
                          text_of(array.attr("dtype")) + "; convert it with .astype(numpy.float32)")
                             .c_str());
  }
  return size == sizeof(float) && scalar;
}

template <class T>
std::shared_ptr<Versioned<T>> to_value(nb::handle value) {
  const bool single = sizeof(T) == sizeof(float);
  if (!is_number(value) && is_single(value) != single) {
    throw nb::type_error(
        single ? "expected an array of float32, as the other arguments have, got float64"
               : "expected an array of float64, as the other arguments have, got float32");
  }
  return std::make_shared<Versioned<T>>(copied<T, T>(value, single ? "float32" : "float64"));
}
template std::shared_ptr<Versioned<float>> to_value(nb::handle);
template std::shared_ptr<Versioned<double>> to_value(nb::handle);

Tensor<double> to_doubles(nb::handle value) {
  return copied<double, double>(array_of(value, "fiub", "an array of numbers"), "float64");
}

Ids to_ids(nb::handle array) {
  const nb::object given = array_of(array, "iu", "an array of integers");
  const nb::object ids = given.attr("astype")("int32");
  if (!nb::cast<bool>(nb::module_::import_("numpy").attr("array_equal")(ids, given))) {
    throw nb::value_error("expected integers of 32 bits");
  }
  return copied<std::int32_t, std::int32_t>(ids, "int32");
}

Mask to_mask(nb::handle array) {
  const nb::object given = array_of(array, "biu", "a mask of booleans or integers");
  return copied<std::uint8_t, bool>(given, "bool");
}

template <class T>
nb::object to_numpy(std::shared_ptr<const Tensor<T>> tensor) {
  using Kept = std::shared_ptr<const Tensor<T>>;
  const T* data = tensor->data();
  const std::vector<std::size_t> shape(tensor->shape().begin(), tensor->shape().end());
  auto* kept = new Kept(std::move(tensor));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<Kept*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, const T>(data, shape.size(), shape.data(), owner));
}
template nb::object to_numpy(std::shared_ptr<const Tensor<float>>);
template nb::object to_numpy(std::shared_ptr<const Tensor<double>>);
template nb::object to_numpy(std::shared_ptr<const Tensor<std::int32_t>>);
template nb::object to_numpy(std::shared_ptr<const Tensor<std::uint8_t>>);

}  // namespace xgrad::python

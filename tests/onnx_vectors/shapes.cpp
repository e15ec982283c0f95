// Operators that move elements.
#include <numeric>

#include <xgrad/layers/embedding.hpp>

#include "onnx_vectors/operators.hpp"

namespace xgrad::test {

namespace {

template <class T>
Results<T> gather_of(const VectorCase& c) {
  const Variable<T> x = in<T>(c, 0);
  const std::size_t axis = axis_of(c.number("axis", 0), x.shape().size());
  Ids indices = c.inputs.at(1).as<std::int32_t>();
  for (std::int32_t& i : indices) i = i < 0 ? i + std::int32_t(x.shape()[axis]) : i;
  return {take(x, std::ptrdiff_t(axis), indices).value()};
}

template <class T>
Results<T> one_hot_of(const VectorCase& c) {
  const auto depth = c.inputs.at(1).integer();
  Ids ids = c.inputs[0].as<std::int32_t>();
  for (std::int32_t& id : ids) id = id < 0 ? id + std::int32_t(depth) : id;
  const Tensor<T> range = c.inputs.at(2).as<T>();
  const Variable<T> off(full<T>({1}, range.data()[0]));
  const Variable<T> y = add(
      scale(Variable<T>(one_hot<T>(ids, std::size_t(depth))), range.data()[1] - range.data()[0]),
      off);
  return {from_end(y, axis_of(c.number("axis", -1), y.shape().size())).value()};
}

template <class T>
Results<T> reshape_of(const VectorCase& c) {
  if (c.number("allowzero", 0) != 0) throw NotOurs{"an axis of extent 0"};
  const Variable<T> x = in<T>(c, 0);
  Shape shape;
  for (std::size_t i = 0; i < c.inputs.at(1).values.size(); ++i) {
    const std::int64_t extent = c.inputs[1].integer(i);
    shape.push_back(extent == 0 ? x.shape()[i] : std::size_t(std::max<std::int64_t>(extent, 1)));
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (c.inputs[1].integer(i) == -1) shape[i] = size_of(x.shape()) / size_of(shape);
  }
  return {reshape(x, shape).value()};
}

// Under the shape of what must come out; only axes of extent 1 differ, or neighbours are joined.
template <class T>
Results<T> reshaped(const VectorCase& c) {
  return {reshape(in<T>(c, 0), c.outputs.at(0).shape).value()};
}

template <class T>
Results<T> expand_of(const VectorCase& c) {
  return {add(in<T>(c, 0), Variable<T>(zeros<T>(c.outputs.at(0).shape))).value()};
}

template <class T>
Results<T> transpose_of(const VectorCase& c) {
  const Variable<T> x = in<T>(c, 0);
  std::vector<std::ptrdiff_t> axes(x.shape().size());
  std::iota(axes.rbegin(), axes.rend(), 0u);
  if (c.lists.contains("perm")) axes.assign(c.lists.at("perm").begin(), c.lists.at("perm").end());
  return {transpose(x, axes).value()};
}

template <class T>
Results<T> slice_of(const VectorCase& c) {
  Variable<T> x = in<T>(c, 0);
  for (std::size_t i = 0; i < c.inputs.at(1).values.size(); ++i) {
    const std::size_t axis =
        axis_of(c.inputs.size() > 3 ? c.inputs[3].values[i] : double(i), x.shape().size());
    if (c.inputs.size() > 4 && c.inputs[4].integer(i) != 1) throw NotOurs{"another step than 1"};
    const auto extent = std::int64_t(x.shape()[axis]);
    const auto place = [&](std::int64_t at) {
      return std::size_t(std::clamp<std::int64_t>(at < 0 ? at + extent : at, 0, extent));
    };
    const std::size_t begin = place(c.inputs[1].integer(i)), end = place(c.inputs[2].integer(i));
    if (begin >= end) throw NotOurs{"an empty slice"};
    x = slice(x, axis, begin, end);
  }
  return {x.value()};
}

template <class T>
Results<T> split_of(const VectorCase& c) {
  const Variable<T> x = in<T>(c, 0);
  if (size_of(x.shape()) == 0) throw NotOurs{"an empty slice"};
  const std::size_t axis = axis_of(c.number("axis", 0), x.shape().size());
  Results<T> results;
  std::size_t begin = 0;
  for (const VectorTensor& part : c.outputs) {
    results.push_back(slice(x, axis, begin, begin + part.shape.at(axis)).value());
    begin += part.shape[axis];
  }
  return results;
}

template <class T>
Results<T> concat_of(const VectorCase& c) {
  std::vector<Variable<T>> parts;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) parts.push_back(in<T>(c, i));
  return {concat(parts, axis_of(c.number("axis", 0), parts[0].shape().size())).value()};
}

}  // namespace

template <class T>
Operators<T> shapes() {
  return {
      {"Gather", gather_of<T>}, {"OneHot", one_hot_of<T>},      {"Reshape", reshape_of<T>},
      {"Flatten", reshaped<T>}, {"Squeeze", reshaped<T>},       {"Unsqueeze", reshaped<T>},
      {"Expand", expand_of<T>}, {"Transpose", transpose_of<T>}, {"Slice", slice_of<T>},
      {"Split", split_of<T>},   {"Concat", concat_of<T>},
  };
}

#define XGRAD_INSTANTIATE(T) template Operators<T> shapes();
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad::test

// Reductions.
#include <algorithm>
#include <functional>
#include <utility>

#include <xgrad/autograd/tensor.hpp>

#include "onnx_vectors/operators.hpp"

namespace xgrad::test {

namespace {

template <class T>
Results<T> reduce_of(const VectorCase& c,
                     const std::function<Variable<T>(const Variable<T>&, std::size_t)>& f) {
  Variable<T> x = in<T>(c, 0);
  const std::size_t rank = x.shape().size();
  std::vector<std::int64_t> axes;
  if (c.lists.contains("axes")) axes = c.lists.at("axes");
  if (c.inputs.size() > 1) {
    for (const double axis : c.inputs[1].values) axes.push_back(std::int64_t(axis));
  }
  if (axes.empty() && c.number("noop_with_empty_axes", 0) != 0) throw NotOurs{"no axis at all"};
  Shape kept = x.shape();
  for (std::size_t axis = rank; axis-- > 0;) {
    const auto is = [&](std::int64_t a) { return axis_of(double(a), rank) == axis; };
    if (!axes.empty() && std::none_of(axes.begin(), axes.end(), is)) continue;
    x = f(x, axis);
    kept[axis] = 1;
  }
  return {c.number("keepdims", 1) != 0 ? reshape(x, kept).value() : x.value()};
}

template <class T>
Results<T> argmax_of(const VectorCase& c) {
  if (c.number("select_last_index", 0) != 0) throw NotOurs{"the last of equals"};
  const Tensor<T> x = c.inputs.at(0).as<T>();
  const std::size_t axis = axis_of(c.number("axis", 0), x.dimension());
  Tensor<T> best = cast<T>(argmax(x, axis));
  Shape kept = x.shape();
  kept[axis] = 1;
  if (c.number("keepdims", 1) != 0) best.reshape(kept);
  return {best};
}

template <class T>
Variable<T> largest(const Variable<T>& x, std::size_t axis) {
  if (x.shape()[axis] == 0) throw NotOurs{"the largest of nothing"};
  const Shape& shape = x.shape();
  const auto at = shape.begin() + std::ptrdiff_t(axis);
  Shape rest(shape.begin(), at);
  rest.insert(rest.end(), at + 1, shape.end());
  const std::size_t before = size_of(Shape(shape.begin(), at));
  return reshape(masked_max(reshape(x, {before, *at, size_of(shape) / before / *at})), rest);
}

template <class T>
Variable<T> mean_of_all(const Variable<T>& x) {
  return masked_mean(
      x, std::make_shared<const Mask>(full<std::uint8_t>({x.shape()[0], x.shape()[1]}, 1)));
}

// ln sum exp x = x_0 - ln softmax(x)_0
template <class T>
Variable<T> log_sum_exp(const Variable<T>& x, std::size_t axis) {
  if (x.shape()[axis] == 0) throw NotOurs{"the logarithm of an empty sum"};
  const Variable<T> last = to_end(x, axis);
  const std::size_t end = last.shape().size() - 1;
  return sub(select(last, end, 0), select(log_softmax(last), end, 0));
}

// (B, C, ...) as (B, N, C) through f, with an extent of 1 for each of the axes that are gone.
template <class T>
Results<T> pool_of(const VectorCase& c, Variable<T> (*f)(const Variable<T>&)) {
  const Variable<T> x = in<T>(c, 0);
  const std::size_t batch = x.shape()[0], channels = x.shape()[1];
  const std::size_t places = size_of(x.shape()) / batch / channels;
  Shape kept(x.shape().size(), 1);
  kept[0] = batch, kept[1] = channels;
  return {reshape(f(transpose(reshape(x, {batch, channels, places}), {0, 2, 1})), kept).value()};
}

}  // namespace

template <class T>
Operators<T> reductions() {
  using V = Variable<T>;
  using C = VectorCase;
  return {
      {"ReduceSum",
       [](const C& c) {
         return reduce_of<T>(c, [](const V& x, std::size_t axis) { return sum(x, axis); });
       }},
      {"ReduceMean",
       [](const C& c) {
         return reduce_of<T>(c, [](const V& x, std::size_t axis) { return mean(x, axis); });
       }},
      {"ReduceSumSquare",
       [](const C& c) {
         bool first = true;
         return reduce_of<T>(c, [&first](const V& x, std::size_t axis) {
           const V squares = std::exchange(first, false) ? mul(x, x) : x;
           return sum(squares, axis);
         });
       }},
      {"ArgMax", argmax_of<T>},
      {"ReduceMax", [](const C& c) { return reduce_of<T>(c, largest<T>); }},
      {"ReduceLogSumExp", [](const C& c) { return reduce_of<T>(c, log_sum_exp<T>); }},
      {"GlobalAveragePool", [](const C& c) { return pool_of<T>(c, mean_of_all<T>); }},
      {"GlobalMaxPool",
       [](const C& c) {
         const auto largest_of_all = [](const V& x) { return masked_max(x); };
         return pool_of<T>(c, largest_of_all);
       }},
  };
}

#define XGRAD_INSTANTIATE(T) template Operators<T> reductions();
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad::test

// Operators that normalise.
#include <xgrad/autograd/tensor.hpp>

#include "onnx_vectors/operators.hpp"

namespace xgrad::test {

namespace {

template <class T>
Results<T> along(const VectorCase& c, const std::function<Variable<T>(const Variable<T>&)>& f) {
  const Variable<T> x = in<T>(c, 0);
  const std::size_t axis = axis_of(c.number("axis", -1), x.shape().size());
  return {from_end(f(to_end(x, axis)), axis).value()};
}

template <class T>
Results<T> layer_norm_of(const VectorCase& c) {
  const Variable<T> x = in<T>(c, 0);
  const Shape& shape = x.shape();
  const auto split = std::ptrdiff_t(axis_of(c.number("axis", -1), shape.size()));
  const std::size_t width = size_of(Shape(shape.begin() + split, shape.end()));
  const Variable<T> y =
      layer_norm(reshape(x, {size_of(shape) / width, width}), reshape(in<T>(c, 1), {width}),
                 reshape(in<T>(c, 2), {width}), c.number("epsilon", 1e-5));
  return {reshape(y, shape).value()};
}

// Each channel of each sample: a layer norm over its places.
template <class T>
Results<T> instance_norm_of(const VectorCase& c) {
  const Variable<T> x = in<T>(c, 0);
  const std::size_t channels = x.shape()[1], places = size_of(x.shape()) / x.shape()[0] / channels;
  const Variable<T> one(full<T>({places}, T(1))), zero(zeros<T>({places}));
  const Variable<T> y = layer_norm(reshape(x, {x.shape()[0], channels, places}), one, zero,
                                   c.number("epsilon", 1e-5));
  const Variable<T> scaled = mul(y, reshape(in<T>(c, 1), {channels, 1}));
  return {reshape(add(scaled, reshape(in<T>(c, 2), {channels, 1})), x.shape()).value()};
}

// The moments that made y = (x - mean) / sqrt(var + eps) of a channel, from two of its elements.
template <class T>
std::pair<T, T> moments(const Tensor<T>& x, const Tensor<T>& y, std::size_t channel, double eps) {
  const std::size_t width = x.shape().back();
  const auto at = [&](std::size_t row) { return row * width + channel; };
  std::size_t low = 0, high = 0;
  for (std::size_t row = 0; row < x.size() / width; ++row) {
    if (x.data()[at(row)] < x.data()[at(low)]) low = row;
    if (x.data()[at(row)] > x.data()[at(high)]) high = row;
  }
  const T deviation =
      (x.data()[at(high)] - x.data()[at(low)]) / (y.data()[at(high)] - y.data()[at(low)]);
  return {x.data()[at(low)] - deviation * y.data()[at(low)], deviation * deviation - T(eps)};
}

template <class T>
Results<T> batch_norm_of(const VectorCase& c) {
  if (c.number("training_mode", 0) == 0) throw NotOurs{"moments of other batches"};
  const double eps = c.number("epsilon", 1e-5), kept = c.number("momentum", 0.9);
  const Variable<T> x = to_end(in<T>(c, 0), 1);
  const std::size_t width = x.shape().back();
  Results<T> results = {from_end(batch_norm(x, in<T>(c, 1), in<T>(c, 2), nullptr, eps), 1).value(),
                        c.inputs.at(3).as<T>(), c.inputs.at(4).as<T>()};
  const Tensor<T> plain = batch_norm(x, Variable<T>(full<T>({width}, T(1))),
                                     Variable<T>(zeros<T>({width})), nullptr, eps)
                              .value();
  for (std::size_t channel = 0; channel < width; ++channel) {
    const auto [mean, variance] = moments(x.value(), plain, channel, eps);
    T* const means = results[1].data() + channel;
    T* const variances = results[2].data() + channel;
    *means = T(kept) * *means + T(1 - kept) * mean;
    *variances = T(kept) * *variances + T(1 - kept) * variance;
  }
  return results;
}

// Each feature over all rows of all samples.
template <class T>
Results<T> standardised(const VectorCase& c) {
  const std::vector<std::int64_t> axes =
      c.lists.contains("axes") ? c.lists.at("axes") : std::vector<std::int64_t>{0, 2, 3};
  if (axes != std::vector<std::int64_t>{0, 2, 3}) throw NotOurs{"other axes"};
  const Variable<T> x = to_end(in<T>(c, 0), 1);
  const std::size_t width = x.shape().back();
  const Variable<T> one(full<T>({width}, T(1))), zero(zeros<T>({width}));
  return {from_end(batch_norm(x, one, zero, nullptr, 1e-18), 1).value()};
}

}  // namespace

template <class T>
Operators<T> normalisation() {
  using C = VectorCase;
  return {
      {"Softmax", [](const C& c) { return along<T>(c, softmax<T>); }},
      {"LogSoftmax", [](const C& c) { return along<T>(c, log_softmax<T>); }},
      {"LayerNormalization", layer_norm_of<T>},
      {"InstanceNormalization", instance_norm_of<T>},
      {"BatchNormalization", batch_norm_of<T>},
      {"MeanVarianceNormalization", standardised<T>},
  };
}

#define XGRAD_INSTANTIATE(T) template Operators<T> normalisation();
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad::test

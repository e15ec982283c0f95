// Every op that ONNX has too gives what ONNX's own test vectors say.
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <numeric>

#include <xgrad/autograd/ops.hpp>
#include <xgrad/optim/table.hpp>

#include "onnx/vectors.hpp"

namespace xgrad {
namespace {

using test::VectorCase;
using test::VectorTensor;

// A case asks for something that xgrad's op does not have.
struct NotOurs {
  std::string why;
};

template <class T>
using Results = std::vector<Tensor<T>>;

template <class T>
Variable<T> in(const VectorCase& c, std::size_t i) {
  return Variable<T>(c.inputs.at(i).as<T>());
}

std::size_t axis_of(double axis, std::size_t rank) {
  return std::size_t(axis < 0 ? axis + double(rank) : axis);
}

// The same with one axis brought to the end, or back.
template <class T>
Variable<T> to_end(const Variable<T>& x, std::size_t axis) {
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < x.shape().size(); ++i) {
    if (i != axis) axes.push_back(i);
  }
  axes.push_back(axis);
  return transpose(x, axes);
}
template <class T>
Variable<T> from_end(const Variable<T>& x, std::size_t axis) {
  std::vector<std::size_t> axes(x.shape().size() - 1);
  std::iota(axes.begin(), axes.end(), 0u);
  axes.insert(axes.begin() + std::ptrdiff_t(axis), axes.size());
  return transpose(x, axes);
}

template <class T>
Results<T> along(const VectorCase& c, const std::function<Variable<T>(const Variable<T>&)>& f) {
  const Variable<T> x = in<T>(c, 0);
  const std::size_t axis = axis_of(c.number("axis", -1), x.shape().size());
  return {from_end(f(to_end(x, axis)), axis).value()};
}

// erf from its only use here: gelu(x) = x/2 (1 + erf(x / sqrt 2)).
template <class T>
Results<T> erf_of(const VectorCase& c) {
  const Variable<T> x = in<T>(c, 0);
  const Tensor<T> y = gelu(scale(x, T(std::sqrt(2.0)))).value();
  Tensor<T> result = empty<T>(x.shape());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const T z = x.value().data()[i] * T(std::sqrt(2.0));
    result.data()[i] = 2 * y.data()[i] / z - 1;
  }
  return {result};
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

template <class T>
Results<T> gemm_of(const VectorCase& c) {
  const Variable<T> product = scale(
      matmul(in<T>(c, 0), in<T>(c, 1), c.number("transA", 0) != 0, c.number("transB", 0) != 0),
      T(c.number("alpha", 1)));
  if (c.inputs.size() < 3) return {product.value()};
  return {add(product, scale(in<T>(c, 2), T(c.number("beta", 1)))).value()};
}

template <class T>
Results<T> gather_of(const VectorCase& c) {
  const Variable<T> x = in<T>(c, 0);
  const std::size_t axis = axis_of(c.number("axis", 0), x.shape().size());
  if (axis != 0 && x.shape().size() != 2) throw NotOurs{"another axis than the first"};
  const Variable<T> rows = axis == 0 ? x : transpose(x, {1, 0});
  const std::size_t count = rows.shape()[0];
  Ids ids = c.inputs.at(1).as<std::int32_t>();
  for (std::int32_t& id : ids) id = id < 0 ? id + std::int32_t(count) : id;
  const Variable<T> flat = embedding(reshape(rows, {count, size_of(rows.shape()) / count}), ids);
  if (axis == 1) {
    // (ids..., D) -> (D, ids...)
    std::vector<std::size_t> axes = {ids.dimension()};
    for (std::size_t i = 0; i < ids.dimension(); ++i) axes.push_back(i);
    return {transpose(flat, axes).value()};
  }
  Shape shape(ids.shape().begin(), ids.shape().end());
  shape.insert(shape.end(), rows.shape().begin() + 1, rows.shape().end());
  return {reshape(flat, shape).value()};
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

template <class T>
Results<T> transpose_of(const VectorCase& c) {
  const Variable<T> x = in<T>(c, 0);
  std::vector<std::size_t> axes(x.shape().size());
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
Results<T> concat_of(const VectorCase& c) {
  std::vector<Variable<T>> parts;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) parts.push_back(in<T>(c, i));
  return {concat(parts, axis_of(c.number("axis", 0), parts[0].shape().size())).value()};
}

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

// Logits (B, V, ...) and targets (B, ...), with class weights.
template <class T>
Results<T> cross_entropy_of(const VectorCase& c) {
  const Variable<T> x = in<T>(c, 0);
  const Variable<T> last = to_end(x, 1);
  Ids targets = c.inputs.at(1).as<std::int32_t>();
  CrossEntropy how;
  how.ignore_index = std::int32_t(c.number("ignore_index", -100));
  if (c.inputs.size() > 2) how.class_weights = c.inputs[2].values;
  const std::string reduction = c.word("reduction", "mean");
  if (reduction != "mean") how.normalizer = 1;

  Results<T> results;
  if (reduction == "none") {
    Tensor<T> each = empty<T>(targets.shape());
    const std::size_t classes = last.shape().back();
    const Variable<T> rows = reshape(last, {targets.size(), classes});
    for (std::size_t i = 0; i < targets.size(); ++i) {
      Ids one = Ids::from_shape({1});
      one(0) = targets.data()[i];
      each.data()[i] = cross_entropy(slice(rows, 0, i, i + 1), one, how).value()();
    }
    results.push_back(each);
  } else {
    results.push_back(cross_entropy(last, targets, how).value());
  }
  if (c.outputs.size() > 1) results.push_back(from_end(log_softmax(last), 1).value());
  return results;
}

template <class T>
Results<T> dropout_of(const VectorCase& c) {
  const bool training = c.inputs.size() > 2 && c.inputs[2].values[0] != 0;
  const double p = c.inputs.size() > 1 ? c.inputs[1].values[0] : 0.5;
  if (training && p > 0) throw NotOurs{"numbers of another generator"};
  return {dropout(in<T>(c, 0), {.p = 0}).value()};
}

// One step from a given state: inputs are R, T, then X, G and each slot, all of each together.
template <class T>
Results<T> optimizer_of(const VectorCase& c, const std::string& name, OptimizerSettings settings,
                        const std::vector<std::string>& slots) {
  const std::size_t kinds = 2 + slots.size(), count = (c.inputs.size() - 2) / kinds;
  const auto input = [&](std::size_t kind, std::size_t i) -> const VectorTensor& {
    return c.inputs.at(2 + kind * count + i);
  };
  Parameters<T> parameters(1);
  for (std::size_t i = 0; i < count; ++i) {
    const Variable<T> x =
        (parameters.root() / "x")
            .parameter("weight" + std::to_string(i), input(0, i).shape, [](auto&&...) {});
    const Tensor<T> value = input(0, i).template as<T>();
    Tensor<T> gradient = input(1, i).template as<T>();
    std::copy_n(value.data(), value.size(), x.mutable_value().data());
    // ONNX adds the decay to the gradient of every tensor.
    const T decay = T(c.number("norm_coefficient", 0));
    for (std::size_t j = 0; j < value.size(); ++j) gradient.data()[j] += decay * value.data()[j];
    scale(x, T(1)).backward(gradient);
  }
  const auto optimizer = make_optimizer<T>(name, parameters, settings);
  for (std::size_t s = 0; s < slots.size(); ++s) {
    for (std::size_t i = 0; i < count; ++i) {
      optimizer->set_state(slots[s] + ".x.weight" + std::to_string(i),
                           input(2 + s, i).template as<T>());
    }
  }
  // ONNX corrects no bias where T is 0; so late, there is none left to correct.
  if (c.inputs[1].integer() != 0) throw NotOurs{"a step other than the first"};
  optimizer->set_steps(1'000'000'000);
  optimizer->step(c.inputs[0].values[0]);
  Results<T> results;
  for (const Parameter<T>& p : parameters) results.push_back(p.variable.value());
  for (const OptimizerState<T>& s : optimizer->state()) results.push_back(s.tensor);
  return results;
}

template <class T>
using Run = std::function<Results<T>(const VectorCase&)>;

template <class T>
std::map<std::string, Run<T>> table() {
  using V = Variable<T>;
  using C = VectorCase;
  const auto two = [](V (*f)(const V&, const V&)) -> Run<T> {
    return [f](const C& c) { return Results<T>{f(in<T>(c, 0), in<T>(c, 1)).value()}; };
  };
  const auto one = [](V (*f)(const V&)) -> Run<T> {
    return [f](const C& c) { return Results<T>{f(in<T>(c, 0)).value()}; };
  };
  return {
      {"Add", two(add<T>)},
      {"Sub", two(sub<T>)},
      {"Mul", two(mul<T>)},
      {"Relu", one(relu<T>)},
      {"Tanh", one(tanh<T>)},
      {"Erf", erf_of<T>},
      {"Softmax", [](const C& c) { return along<T>(c, softmax<T>); }},
      {"LogSoftmax", [](const C& c) { return along<T>(c, log_softmax<T>); }},
      {"LayerNormalization", layer_norm_of<T>},
      {"MatMul", [](const C& c) { return Results<T>{matmul(in<T>(c, 0), in<T>(c, 1)).value()}; }},
      {"Gemm", gemm_of<T>},
      {"Gather", gather_of<T>},
      {"Reshape", reshape_of<T>},
      {"Transpose", transpose_of<T>},
      {"Slice", slice_of<T>},
      {"Concat", concat_of<T>},
      {"ReduceSum",
       [](const C& c) {
         return reduce_of<T>(c, [](const V& x, std::size_t axis) { return sum(x, axis); });
       }},
      {"ReduceMean",
       [](const C& c) {
         return reduce_of<T>(c, [](const V& x, std::size_t axis) { return mean(x, axis); });
       }},
      {"SoftmaxCrossEntropyLoss", cross_entropy_of<T>},
      {"Dropout", dropout_of<T>},
      {"Adam",
       [](const C& c) {
         // ONNX made this vector with an epsilon that it left out of the model.
         const double unstated = c.name == "test_adam_multiple" ? 1e-2 : 0;
         const OptimizerSettings s = {.beta1 = c.number("alpha", 0.9),
                                      .beta2 = c.number("beta", 0.999),
                                      .eps = c.number("epsilon", unstated)};
         return optimizer_of<T>(c, "adam", s, {"exp_avg", "exp_avg_sq"});
       }},
      {"Momentum",
       [](const C& c) {
         if (c.word("mode", "standard") != "standard") throw NotOurs{"Nesterov's momentum"};
         const OptimizerSettings s = {.momentum = c.number("alpha", 0)};
         return optimizer_of<T>(c, "sgd", s, {"momentum_buffer"});
       }},
  };
}

// The largest |x - y| / (0.1 + |y|) over all results, so that 1e-5 allows 1e-5 relative and 1e-6
// absolute; infinite where shapes differ.
template <class T>
double worst(const Results<T>& results, const std::vector<VectorTensor>& expected) {
  double off = 0;
  for (std::size_t r = 0; r < std::min(results.size(), expected.size()); ++r) {
    if (Shape(results[r].shape()) != expected[r].shape) return INFINITY;
    for (std::size_t i = 0; i < results[r].size(); ++i) {
      const double y = expected[r].values[i], x = double(results[r].data()[i]);
      if (!(std::abs(x - y) <= 1e300)) return INFINITY;
      off = std::max(off, std::abs(x - y) / (0.1 + std::abs(y)));
    }
  }
  return off;
}

template <class T>
class Vectors : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(Vectors, Scalars);

TYPED_TEST(Vectors, EveryOpAgreesWithOnnx) {
  std::vector<VectorCase> cases = test::read_vectors();
  if (cases.empty()) GTEST_SKIP() << "libonnx-testdata is not installed";
  const auto ops = table<TypeParam>();
  std::map<std::string, int> passed;
  std::string left_out;
  int run = 0;
  for (VectorCase& c : cases) {
    const auto op = ops.find(c.op);
    if (op == ops.end()) continue;
    test::load_tensors(c);
    try {
      for (const VectorTensor& t : c.inputs) {
        if (!t.numbers) throw NotOurs{"another type"};
      }
      const double off = worst(op->second(c), c.outputs);
      ++run;
      EXPECT_LE(off, 1e-5) << c.name;
      passed[c.op] += off <= 1e-5;
    } catch (const NotOurs& reason) {
      left_out += "\n  " + c.name + ": " + reason.why;
    }
  }
  int total = 0;
  for (const auto& [op, count] : passed) total += count;
  std::printf("%d of %d vectors passed, of %zu operators; left out:%s\n", total, run, passed.size(),
              left_out.c_str());
  EXPECT_EQ(passed.size(), ops.size());
  EXPECT_EQ(run, 157);
}

}  // namespace
}  // namespace xgrad

// What only training needs.
#include <xgrad/optim/optimizers.hpp>

#include "onnx_vectors/operators.hpp"

namespace xgrad::test {

namespace {

// Logits (B, V, ...) and targets (B, ...), with class weights.
template <class T>
Results<T> cross_entropy_of(const VectorCase& c) {
  const Variable<T> x = in<T>(c, 0);
  const Variable<T> last = to_end(x, 1);
  Ids targets = c.inputs.at(1).as<std::int32_t>();
  CrossEntropyOptions options;
  options.ignore_index = std::int32_t(c.number("ignore_index", -100));
  if (c.inputs.size() > 2) options.class_weights = c.inputs[2].values;
  const std::string reduction = c.word("reduction", "mean");
  if (reduction != "mean") options.normalizer = 1;

  Results<T> results;
  if (reduction == "none") {
    Tensor<T> each = empty<T>(targets.shape());
    const std::size_t classes = last.shape().back();
    const Variable<T> rows = reshape(last, {targets.size(), classes});
    for (std::size_t i = 0; i < targets.size(); ++i) {
      Ids one = Ids::from_shape({1});
      one(0) = targets.data()[i];
      each.data()[i] = cross_entropy(slice(rows, 0, i, i + 1), one, options).value()();
    }
    results.push_back(each);
  } else {
    results.push_back(cross_entropy(last, targets, options).value());
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
Results<T> optimizer_of(const VectorCase& c, const std::string& name, OptimizerOptions options,
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
  const auto optimizer = make_optimizer<T>(name, parameters, options);
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

}  // namespace

template <class T>
Operators<T> training() {
  using C = VectorCase;
  return {
      {"SoftmaxCrossEntropyLoss", cross_entropy_of<T>},
      {"Dropout", dropout_of<T>},
      {"Adam",
       [](const C& c) {
         // ONNX made this vector with an epsilon that it left out of the model.
         const double unstated = c.name == "test_adam_multiple" ? 1e-2 : 0;
         const OptimizerOptions s = {.betas = {c.number("alpha", 0.9), c.number("beta", 0.999)},
                                     .eps = c.number("epsilon", unstated)};
         return optimizer_of<T>(c, "adam", s, {"exp_avg", "exp_avg_sq"});
       }},
      {"Adagrad",
       [](const C& c) {
         // Its decay of the learning rate does nothing at T = 0.
         const OptimizerOptions s = {.eps = c.number("epsilon", 0)};
         return optimizer_of<T>(c, "adagrad", s, {"sum"});
       }},
      {"Momentum",
       [](const C& c) {
         const OptimizerOptions s = {.momentum = c.number("alpha", 0),
                                     .nesterov = c.word("mode", "standard") == "nesterov"};
         return optimizer_of<T>(c, "sgd", s, {"momentum_buffer"});
       }},
  };
}

#define XGRAD_INSTANTIATE(T) template Operators<T> training();
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad::test

// Trace: the values and gradients of a training step, each with its place in the model.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include <xgrad/autograd/observer.hpp>
#include <xgrad/autograd/parameters.hpp>

namespace xgrad {

/// Where a tensor comes from.
struct OpPlace {
  std::size_t number = 0;  ///< of the op, from 1, in the order in which forward ran them
  std::string op;          ///< its name
  /// The module whose parameters the op reads; of an op without parameters that of the input that
  /// was computed last, so that the sum of a residual belongs to the sublayer that it adds.
  std::string module;
  std::string tensor;  ///< "output", "gradient of input 0", "gradient of head.weight"
};

/// "op 12 softmax in encoder.layers.0.attention: output"
std::string to_string(const OpPlace& place);

/// While it lives, calls `see` for the output of every op of this scalar type and for every
/// gradient that a backward gives, in their order. An observer that was there before it is told
/// first.
template <class T>
class Trace final : public OpObserver {
 public:
  /// What is called.
  using See = std::function<void(const OpPlace&, const Tensor<T>&)>;
  /// From now on, to the end of the block.
  Trace(const Parameters<T>& parameters, See see);

  void begin(const char* name) override;
  void done() override;
  void end(const OpCall& call) override;

 private:
  // Where a value comes from: the op's number, 0 of a parameter, and its module.
  struct Made {
    std::size_t number;
    std::string module;
  };

  void forward(const OpCall& call);
  void backward(const OpCall& call);

  See see_;
  std::size_t count_ = 0;
  std::unordered_map<const void*, std::string> names_;  // of parameters, by value and gradient
  std::unordered_map<const void*, Made> made_;          // by value
  std::unordered_map<std::uint64_t, OpPlace> places_;   // by node
  OpObserver* before_;
  Observing observing_;
};

}  // namespace xgrad

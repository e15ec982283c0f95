// Trace: reports the values and gradients of a training step, each with its place in the model.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include <xgrad/autograd/observer.hpp>
#include <xgrad/autograd/parameters.hpp>

namespace xgrad {

/// The place where a tensor is computed.
struct OpPlace {
  std::size_t number = 0;  ///< number of the op, from 1, in the order of forward
  std::string op;          ///< name of the op
  /// The module whose parameters the op reads. For an op without parameters, the module of the
  /// input that was computed last, so the sum of a residual belongs to its sublayer.
  std::string module;
  std::string tensor;  ///< "output", "gradient of input 0", "gradient of head.weight"
};

/// "op 12 softmax in encoder.layers.0.attention: output"; without a tensor, only the op.
std::string to_string(const OpPlace& place);

/// During its lifetime, calls `see` for the output of every op of this scalar type and for every
/// gradient that backward computes, in order. Calls the observer that was active before it first.
template <class T>
class Trace final : public OpObserver {
 public:
  /// The callback.
  using See = std::function<void(const OpPlace&, const Tensor<T>&)>;
  /// Callback for a whole call; its place has no tensor.
  using SeeCall = std::function<void(const OpPlace&, const OpCall&)>;
  /// Starts tracing, which ends with this object.
  Trace(const Parameters<T>& parameters, See see, SeeCall see_call = {});

  void begin(const char* name) override;
  void done() override;
  void end(const OpCall& call) override;

 private:
  // The origin of a value: the number of its op (0 for a parameter) and its module.
  struct Made {
    std::size_t number;
    std::string module;
  };

  void forward(const OpCall& call);
  void backward(const OpCall& call);

  See see_;
  SeeCall see_call_;
  std::size_t count_ = 0;
  // Names of parameters, by the addresses of their values and of their gradients.
  std::unordered_map<const void*, std::string> names_;
  std::unordered_map<const void*, Made> made_;         // by address of the value
  std::unordered_map<std::uint64_t, OpPlace> places_;  // by id of the node
  OpObserver* before_;
  ScopedObserver observing_;
};

}  // namespace xgrad

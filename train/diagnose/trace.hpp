// Trace: reports the values and gradients of a training step, each with its place in the model.
// DeadGradients: finds parameters that no gradient reaches. GradientFlow: finds the op at which the
// gradient stops on its way to a parameter. Replay: runs a failed step again, op by op, in its own
// precision and in a higher one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <xgrad/autograd/observer.hpp>
#include <xgrad/autograd/parameters.hpp>

namespace xgrad {

struct Checkpoint;

/// The place where a tensor is computed.
struct OpPlace {
  std::size_t number = 0;  ///< number of the op, from 1, in the order of forward
  std::string op;          ///< name of the op
  /// The module whose parameters the op reads. For an op without parameters: the module of its
  /// input that was computed last. So the sum of a residual connection belongs to the module of the
  /// sublayer.
  std::string module;
  std::string tensor;  ///< "output", "gradient of input 0", "gradient of head.weight"
};

/// "op 12 softmax in encoder.layers.0.attention: output"; without a tensor, only the op.
std::string to_string(const OpPlace& place);

/// During its lifetime, calls `see` for the output of every op of this scalar type and for every
/// gradient that backward computes, in order. An observer that was active before stays active.
template <class T>
class Trace final : public OpObserver {
 public:
  using See = std::function<void(const OpPlace&, const Tensor<T>&)>;  ///< the callback
  /// Callback for each forward and backward of an op, called before See; OpPlace::tensor is empty.
  using SeeCall = std::function<void(const OpPlace&, const OpCall&)>;
  Trace(const Parameters<T>& parameters, See see, SeeCall see_call = {});  ///< starts tracing

  void begin(const char* name) override {
    if (before_ != nullptr) before_->begin(name);
  }
  void done() override {
    if (before_ != nullptr) before_->done();
  }
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

/// During its lifetime, records the ops of forward and backward, which values each op reads, and
/// the gradients that arrive. Keeps the outputs of all ops.
template <class T>
class GradientFlow {
 public:
  explicit GradientFlow(const Parameters<T>& parameters);  ///< starts recording

  /// The largest magnitude in the gradient of a parameter or of an op's output; 0 if none arrived.
  double gradient_of(const Variable<T>& x) const;

  /// For a parameter whose gradient is missing or 0 after backward, says at which op the gradient
  /// ends, or that no op reads the parameter. If several of the following ops exist, names the one
  /// that is listed first. "Last" refers to the order of forward:
  ///
  /// - the last op that received a gradient other than 0, but passed none or only zeros on to the
  ///   parameter or to a value computed from the parameter;
  /// - the last op that affects the loss, but reads the parameter (or a value computed from it)
  ///   outside of the graph, as after detach() or under NoGrad;
  /// - the last op that depends on the parameter; this op does not affect the loss.
  std::string end_of(const Parameter<T>& parameter) const;

 private:
  // A parameter or the output of an op.
  struct Made {
    std::string name;                        // "op 3 relu in head", or "the parameter"
    bool arrived = false;                    // whether it has a gradient
    double gradient = 0;                     // largest magnitude in the gradient
    std::shared_ptr<const void> owner = {};  // so that no later value gets its address
  };
  struct Read {
    std::size_t made;  // index in made_; kConstant for any other value
    bool gradient;     // whether a gradient is wanted
  };
  struct Ran {
    std::vector<Read> reads;  // one per input
    std::size_t output;       // index in made_
    bool recorded;            // whether it is in the graph
  };
  static constexpr std::size_t kConstant = std::size_t(-1);

  void forward(const OpPlace& place, const OpCall& call);
  void backward(const OpCall& call);

  std::vector<Made> made_;
  std::vector<Ran> ops_;
  std::vector<std::size_t> losses_;                       // in made_: where backward() began
  std::unordered_map<const void*, std::size_t> made_at_;  // in made_, by address of the value
  std::unordered_map<std::uint64_t, std::size_t> op_of_;  // in ops_, by id of the node
  Trace<T> trace_;
};

/// Finds parameters whose gradient was missing, or exactly 0 in every element, in each step since
/// the last call of take(). Parameters that require no gradient do not count. To be fast, observe()
/// skips parameters that have had a gradient other than 0 since the last take(), and reads a
/// gradient only up to its first element that is not 0.
template <class T>
class DeadGradients {
 public:
  /// Watches `parameters`, which must be complete and outlive this object.
  explicit DeadGradients(const Parameters<T>& parameters)
      : parameters_(&parameters), alive_(parameters.size(), '\0') {}

  /// Looks at the gradients of a step, after its backward.
  void observe() {
    auto alive = alive_.begin();
    for (const Parameter<T>& p : *parameters_) {
      if (char& lives = *alive++; !lives && p.variable.has_grad()) {
        const Tensor<T>& x = p.variable.grad();
        lives = std::any_of(x.data(), x.data() + x.size(), [](T each) { return each != T(0); });
      }
    }
  }
  /// A character for each parameter: 1 if, since the last take(), it had a gradient other than 0.
  const std::string& alive() const { return alive_; }
  /// Adds the observations of another process: `alive` is its alive().
  void join(const std::string& alive) {
    for (std::size_t i = 0; i < alive_.size(); ++i) alive_[i] |= alive[i];
  }
  /// Returns the dead parameters, in the order of their creation, and starts a new interval.
  std::vector<const Parameter<T>*> take() {
    std::vector<const Parameter<T>*> dead;
    auto alive = alive_.begin();
    for (const Parameter<T>& p : *parameters_) {
      if (!*alive++ && p.variable.requires_grad()) dead.push_back(&p);
    }
    alive_.assign(alive_.size(), '\0');
    return dead;
  }

 private:
  const Parameters<T>* parameters_;
  std::string alive_;
};

/// Compares a tensor of a failed step with its reference: the same tensor, computed in the next
/// higher precision (double for float, long double for double).
struct ReplayRow {
  OpPlace place;                 ///< place where the tensor was computed
  Shape shape;                   ///< shape of the tensor
  bool finite = true;            ///< no NaN or infinity in the tensor
  bool reference_finite = true;  ///< no NaN or infinity in the reference
  double largest = 0;            ///< largest magnitude in the reference
  double difference = 0;         ///< largest difference, as a fraction of `largest`
  /// Flat index of the first NaN or infinity, else of the largest difference.
  std::size_t worst = 0;

  /// Whether a value is NaN or infinite, or the difference exceeds kBand.
  bool leaves_band() const { return !finite || !reference_finite || !(difference <= kBand); }
  /// The largest difference that counts as rounding; far above the rounding errors of a step in
  /// float.
  static constexpr double kBand = 1e-3;
};

/// Runs forward and backward of a failed step in both precisions. Returns a row for each tensor, in
/// order. Throws CheckpointError if the weights in `failed` do not fit the config in `failed`.
std::vector<ReplayRow> replay(const Checkpoint& failed);

}  // namespace xgrad

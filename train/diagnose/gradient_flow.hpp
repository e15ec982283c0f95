// GradientFlow: tells at which op the gradient of a parameter ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/train/diagnose/trace.hpp>

namespace xgrad {

/// During its lifetime, records the ops of forward and backward, which values each op reads, and
/// the gradients that arrive. Keeps the outputs of all ops.
template <class T>
class GradientFlow {
 public:
  /// Starts recording, which ends with this object.
  explicit GradientFlow(const Parameters<T>& parameters);

  /// The largest magnitude in the gradient of a parameter or of an op's output; 0 if none arrived.
  double gradient_of(const Variable<T>& x) const;

  /// Says at which op the gradient of a parameter ends that has none, or only zeros, after
  /// backward. Names, in this order of preference, the last op
  ///
  /// - whose output has a gradient other than 0 and which passes none on towards the parameter,
  /// - that reads the parameter, or what was computed from it, without a gradient, as after
  ///   detach() or under NoGrad, and has an effect on the loss,
  /// - whose output depends on the parameter and has no effect on the loss.
  std::string end_of(const Parameter<T>& parameter) const;

 private:
  // A parameter or the output of an op.
  struct Made {
    std::string name;                        // "op 3 relu in head", or "the parameter"
    bool arrived = false;                    // whether it has a gradient
    double gradient = 0;                     // largest magnitude in that
    std::shared_ptr<const void> owner = {};  // keeps its address from being used again
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
  // For each op, whether the loss depends on its output.
  std::vector<bool> ops_of_the_loss() const;

  std::vector<Made> made_;
  std::vector<Ran> ops_;
  std::vector<std::size_t> losses_;                       // in made_: where backward() began
  std::unordered_map<const void*, std::size_t> made_at_;  // in made_, by address of the value
  std::unordered_map<std::uint64_t, std::size_t> op_of_;  // in ops_, by id of the node
  Trace<T> trace_;
};

}  // namespace xgrad

// Optimizer<T>: base class that updates the parameters; each kind of optimizer adds its state and
// update(). make_optimizer() makes an optimizer from its name in a config.
#pragma once

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/autograd/range.hpp>
#include <xgrad/optim/flat_parameters.hpp>

namespace xgrad {

/// Options of the parameters whose names match a pattern. The first matching group applies.
struct ParameterGroup {
  /// Pattern for whole names; * and ? match any characters, including dots.
  std::string match = {};
  double lr_scale = 1.0;  ///< factor of the learning rate, >= 0
  /// Replaces OptimizerOptions::weight_decay, >= 0; also applies to parameters with
  /// WeightDecay::off.
  std::optional<double> weight_decay = std::nullopt;
  /// If true, the parameters are not updated and have no state. Their gradients are still computed
  /// and count in global_norm(), unless Parameters::freeze() turns the gradients off.
  bool freeze = false;
};

/// Whether a group's pattern matches the whole name of a parameter.
inline bool matches(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
}

/// Returns the first group that matches; nullptr if none does.
inline const ParameterGroup* group_of(const std::vector<ParameterGroup>& groups,
                                      const std::string& name) {
  const auto found = std::find_if(groups.begin(), groups.end(), [&](const ParameterGroup& group) {
    return matches(group.match, name);
  });
  return found == groups.end() ? nullptr : &*found;
}

/// Options of all optimizers; each optimizer reads the options that it needs. The learning rate is
/// an argument of Optimizer::step().
struct OptimizerOptions {
  std::pair<double, double> betas = {0.9, 0.999};  ///< decays of mean gradient and mean gradient^2
  double eps = 1e-8;                               ///< added to the denominator, >= 0
  double weight_decay = 0.0;                       ///< for parameters with WeightDecay::on, >= 0
  double momentum = 0.0;                           ///< momentum of SGD, in [0, 1)
  bool nesterov = false;  ///< whether SGD uses Nesterov momentum; needs momentum above 0
  double alpha = 0.99;    ///< decay of RMSprop's mean of squared gradients, in [0, 1)
  std::vector<ParameterGroup> groups = {};  ///< parameters with options of their own
  /// The part of the trained parameters that this optimizer updates and keeps state for; if several
  /// processes share the update, each process has a part of its own.
  ModelPart part = {};
};

/// A named tensor in the state of an optimizer.
template <class T>
struct OptimizerState {
  std::string name;       ///< name, such as "exp_avg.encoder.layers.0.norm1.weight"
  Tensor<T> tensor;       ///< all values, in the parameter's shape; or a part, as a vector
  Shape shape;            ///< shape of the parameter
  std::size_t first = 0;  ///< index of the first value in the parameter
};

namespace detail {
/// Copies `tensor`, which has the shape of the whole parameter, into the tensor `name` of `state`.
/// If the tensor `name` holds only a part of the parameter, copies only this part. Throws Error,
/// with `what` in the message, if there is no tensor `name`; ShapeError if the shape differs.
template <class T>
void set_state(std::vector<OptimizerState<T>>& state, const char* what, std::string_view name,
               const Tensor<T>& tensor);
}  // namespace detail

/// A gradient multiplied by the `grad_scale` of step(), so that every update() applies clipping.
template <class T>
struct ScaledGradient {
  /// Element i, scaled.
  T operator[](std::size_t i) const { return scale * data[i]; }

  const T* data;  ///< gradient that backward computed
  T scale;        ///< grad_scale of the step
};

/// Consecutive elements of one parameter, the input of update().
template <class T>
struct ParameterSpan {
  std::size_t size;         ///< number of elements
  T* value;                 ///< values to update
  ScaledGradient<T> grad;   ///< gradients of the loss
  std::array<T*, 2> slots;  ///< state, in the order of the names given to Optimizer
  double weight_decay;      ///< weight decay of this parameter
  double lr_scale;          ///< factor of the learning rate
  double lr;                ///< learning rate of the step, without the factor
};

/// Base class of all optimizers. Its whole state is steps() and state(), allocated at construction.
template <class T>
class Optimizer {
 public:
  /// `slots` names up to two state tensors per parameter, as PyTorch names them. Keeps a pointer to
  /// `parameters`, which must be complete. Parameters that require no gradient, and parameters in
  /// groups with `freeze`, get no state. Throws ConfigError when a setting is out of range, or the
  /// pattern of a group matches nothing.
  Optimizer(const Parameters<T>& parameters, const OptimizerOptions& options,
            const std::vector<std::string>& slots);
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Updates every parameter that has a gradient, in one pass, with gradient times `grad_scale`
  /// (from clip_factor()). Skips groups with `freeze`.
  ///
  /// The bits do not depend on the number of threads. Throws NumericError, with nothing changed,
  /// when lr or grad_scale is negative or not finite. The first call also throws NumericError, with
  /// the names, if trained parameters have no gradient. Later calls skip such parameters. Throws
  /// Error when parameters were added after construction.
  void step(double lr, double grad_scale = 1.0);

  /// The number of steps taken; part of the state.
  std::uint64_t steps() const { return steps_; }
  /// Sets the number of steps taken.
  void set_steps(std::uint64_t steps) { steps_ = steps; }

  /// The state tensors, slot by slot; within a slot, in the order of the parameters.
  const std::vector<OptimizerState<T>>& state() const { return state_; }
  /// Copies `tensor`, which has the shape of the whole parameter, into the state tensor `name`. If
  /// this optimizer holds only a part of the state tensor, copies that part. Throws Error when the
  /// name is unknown, ShapeError when the shape differs from the parameter's shape.
  void set_state(std::string_view name, const Tensor<T>& tensor) {
    detail::set_state(state_, "state tensor of the optimizer", name, tensor);
  }

  /// The options that the constructor got.
  const OptimizerOptions& options() const { return options_; }

 protected:
  /// Prepares update() for a step. Called once per step; `step` counts from 1.
  virtual void prepare(double /*lr*/, std::uint64_t /*step*/) {}
  /// Updates value and slots, with the learning rate lr times lr_scale. Called on several threads
  /// at once, for different elements.
  virtual void update(const ParameterSpan<T>& span) const = 0;

 private:
  // Options and state of one parameter.
  struct Member {
    std::size_t state;  // index of slot 0 in state_; slot k: state + k * trainable_
    double weight_decay;
    double lr_scale;
    bool trains;
  };

  const Parameters<T>* parameters_;
  OptimizerOptions options_;
  std::size_t slot_count_, trainable_ = 0;
  std::vector<OptimizerState<T>> state_;
  std::vector<Member> members_;  // one per parameter
  std::uint64_t steps_ = 0;
  bool checked_ = false;
  // Reused in every step to avoid allocation.
  detail::FlatParameters flat_;
  std::vector<ParameterSpan<T>> wholes_;  // all elements of each parameter to update
  std::vector<std::size_t> firsts_;       // OptimizerState::first for each element of wholes_
};

/// The names of all optimizers: "adagrad", "adam", "adamw", "lion", "rmsprop", "sgd".
std::vector<std::string> optimizer_names();

/// The members of OptimizerOptions that this optimizer reads, such as "betas" for "adam", except
/// the members that all optimizers read. Throws ConfigError as make_optimizer().
const std::vector<std::string>& optimizer_keys(const std::string& name);

/// Makes the optimizer with this name. Throws ConfigError, with all names, for an unknown name.
template <class T>
std::unique_ptr<Optimizer<T>> make_optimizer(const std::string& name,
                                             const Parameters<T>& parameters,
                                             const OptimizerOptions& options);

}  // namespace xgrad

// Optimizer<T>: walks the parameters; what each kind adds is the names of its state and update().
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/optim/groups.hpp>
#include <xgrad/optim/row.hpp>

namespace xgrad {

/// What an optimizer is set to; each reads what it knows. The learning rate is an argument of every
/// step.
struct OptimizerSettings {
  double beta1 = 0.9;         ///< decay of the mean of gradients, in [0, 1)
  double beta2 = 0.999;       ///< decay of the mean of squared gradients, in [0, 1)
  double eps = 1e-8;          ///< added to what divides, >= 0
  double weight_decay = 0.0;  ///< of the parameters that were made with WeightDecay::on, >= 0
  double momentum = 0.0;      ///< decay of SGD's sum of gradients, in [0, 1)
  bool nesterov = false;      ///< whether SGD looks a step ahead; needs momentum above 0
  double alpha = 0.99;        ///< decay of RMSprop's mean of squared gradients, in [0, 1)
  std::vector<ParameterGroup> groups = {};  ///< parameters with settings of their own
};

/// One tensor of an optimizer's state.
template <class T>
struct OptimizerState {
  std::string name;  ///< "exp_avg.encoder.layers.0.norm1.weight"
  Tensor<T> tensor;  ///< in the parameter's shape
};

/// Elements of a gradient times step()'s `grad_scale`, so that no update() can forget to clip.
template <class T>
struct ScaledGradient {
  /// Element i.
  T operator[](std::size_t i) const { return scale * data[i]; }

  const T* data;  ///< as backward left them
  T scale;        ///< that of the step
};

/// Consecutive elements of one parameter, as update() sees them.
template <class T>
struct ParameterRun {
  std::size_t size;         ///< of the run
  T* value;                 ///< to be updated
  ScaledGradient<T> grad;   ///< of the loss by them
  std::array<T*, 2> slots;  ///< of the state tensors, in the order of their names
  double weight_decay;      ///< 0 where it is WeightDecay::off
  double lr_scale;          ///< multiplies the learning rate of the step
};

/// Base of all optimizers. Its whole state is steps() and state(), allocated at construction.
template <class T>
class Optimizer {
 public:
  /// `slots` names up to two state tensors that each parameter gets, as PyTorch names them. Keeps a
  /// pointer to `parameters`, which must have all its members by now. Parameters that require no
  /// gradient, and those of groups with `freeze`, get no state. Throws ConfigError when a setting
  /// is out of its range, or the pattern of a group matches nothing.
  Optimizer(const Parameters<T>& parameters, const OptimizerSettings& settings,
            const std::vector<std::string>& slots);
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Updates every parameter that has a gradient, in one pass, with gradient times `grad_scale`
  /// (clip_factor()), except those of groups with `freeze`.
  ///
  /// The bits do not depend on the number of threads. Throws NumericError, with nothing changed,
  /// when lr or grad_scale is negative or not finite. The first call throws it too when no gradient
  /// has reached some of the parameters, and names them; later calls leave such parameters as they
  /// are.
  void step(double lr, double grad_scale = 1.0);

  /// Steps taken; a part of the state.
  std::uint64_t steps() const { return steps_; }
  /// Goes on from there.
  void set_steps(std::uint64_t steps) { steps_ = steps; }

  /// Slot by slot, and within a slot in the order of the parameters.
  const std::vector<OptimizerState<T>>& state() const { return state_; }
  /// Replaces a state tensor. Throws Error when there is none of that name, ShapeError when the
  /// shape differs.
  void set_state(std::string_view name, const Tensor<T>& tensor);

  /// What it was made with.
  const OptimizerSettings& settings() const { return settings_; }

 protected:
  /// Called once at the beginning of a step, with its number (1 is the first): what update() needs.
  virtual void prepare(double lr, std::uint64_t step) = 0;
  /// Updates value and slots, with the learning rate times run.lr_scale. Runs on several threads at
  /// once, on different elements.
  virtual void update(const ParameterRun<T>& run) const = 0;

 private:
  // What a parameter is updated with.
  struct Member {
    std::size_t state;  // of its first slot, in state_; the next ones follow every trainable_
    double weight_decay;
    double lr_scale;
    bool trains;
  };

  Member member(const Parameter<T>& p) const;
  void require_gradients() const;
  ParameterRun<T> whole(std::size_t i);

  const Parameters<T>* parameters_;
  OptimizerSettings settings_;
  std::size_t slot_count_, trainable_ = 0;
  std::vector<OptimizerState<T>> state_;
  std::vector<Member> members_;  // one a parameter
  std::uint64_t steps_ = 0;
  bool checked_ = false;
  // Of the current step, kept for their memory.
  detail::Row row_;
  std::vector<ParameterRun<T>> wholes_;
};

}  // namespace xgrad

// Layers and optimizers for Python, in float32 or float64.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <xgrad/layers/module.hpp>
#include <xgrad/optim/optimizers.hpp>
#include <xgrad/python/src/arrays.hpp>
#include <xgrad/python/src/module.hpp>

namespace xgrad::python {

/// The class xgrad.Module: the base class of the C++ layers and of modules written in Python.
struct Module {
  virtual ~Module() = default;
  /// {name: Variable} of this module's parameters, without parameters of modules in its attributes.
  virtual nanobind::dict own_parameters() const { return {}; }

  nanobind::dict given = {};  ///< the constructor's arguments, to make a copy
};

/// The seed for a new layer's parameters, and the layer's place: how many layers were made before
/// it since manual_seed(). The place makes initial values and dropout differ between layers.
std::pair<std::uint64_t, std::uint64_t> next_place();

/// Whether a dtype name means float32. Throws TypeError for names other than float32 and float64.
bool is_float32(const std::string& dtype);

/// A context for training, with dropout from `rng`; without `rng`, a context for evaluation.
inline Context context_of(const std::optional<Rng>& rng) {
  return {.training = rng.has_value(), .rng = rng};
}

/// A layer of float or double, with its parameters.
template <template <class> class L>
class Layer : public Module {
  template <class T>
  struct Held {
    template <class Make>
    Held(std::uint64_t seed, std::uint64_t number, const Make& make)
        : parameters(seed), layer(make(parameters.root() / number)) {}

    Parameters<T> parameters;
    L<T> layer;
  };

 public:
  /// make(scope) returns the layer. The names of its parameters begin with scope.path().
  template <class Make>
  Layer(const std::string& dtype, const Make& make) {
    const auto [seed, number] = next_place();
    if (is_float32(dtype)) {
      held_ = std::make_unique<Held<float>>(seed, number, make);
    } else {
      held_ = std::make_unique<Held<double>>(seed, number, make);
    }
  }

  nanobind::dict own_parameters() const override {
    nanobind::dict found;
    std::visit(
        [&](const auto& held) {
          for (const auto& one : held->parameters) {
            const std::string own = one.name.substr(one.name.find('.') + 1);
            found[own.c_str()] = nanobind::cast(Var{one.variable, true});
          }
        },
        held_);
    return found;
  }

  /// Calls the function that prepare(layer) returns, and returns its result. The returned function
  /// takes no arguments.
  template <class Prepare>
  Var call(const Prepare& prepare) const {
    return std::visit(
        [&](const auto& held) {
          const auto compute = prepare(held->layer);
          return returned([&] {
            const Unlocked unlocked;
            return compute();
          }());
        },
        held_);
  }

 private:
  std::variant<std::unique_ptr<Held<float>>, std::unique_ptr<Held<double>>> held_;
};

/// The base class of the classes in xgrad.optim.
class AnyOptimizer {
  template <class T>
  struct Held {
    Held(const char* kind, const nanobind::list& pairs, const OptimizerOptions& options);

    Parameters<T> parameters{0};
    std::unique_ptr<Optimizer<T>> optimizer;
  };

 public:
  /// `given`: leaves, or pairs of a name and a leaf.
  AnyOptimizer(const char* kind, nanobind::handle given, double lr,
               const OptimizerOptions& options);
  AnyOptimizer(const AnyOptimizer&) = delete;

  /// Updates the leaves by their gradients. With `clip`, first clips the norm of all gradients to
  /// `clip`, and returns the norm before clipping; else returns nothing.
  std::optional<double> step(std::optional<double> clip);
  /// Clears the gradients.
  void zero_grad();
  /// Returns {name: copy of a state array}, with lr and the number of steps.
  nanobind::dict state_dict() const;
  /// Restores a state_dict().
  void load_state_dict(const nanobind::dict& state);

  double lr;  ///< learning rate of the next step

 private:
  std::variant<std::unique_ptr<Held<float>>, std::unique_ptr<Held<double>>> held_;
};

/// Adds the layers and optimizers of the C++ headers. layer_table.py generates this function.
void add_made_layers(nanobind::module_& m);

}  // namespace xgrad::python

// Named parameters: the only way to make a trainable leaf is scope.parameter(name, shape, init).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <xgrad/autograd/random.hpp>
#include <xgrad/autograd/variable.hpp>

namespace xgrad {

/// Whether optimizers apply their weight decay to a parameter. Layers keep it from biases, norms,
/// embeddings, positions and class tokens: decay pulls towards 0, which is no simpler value of
/// these.
enum class WeightDecay { on, off };

/// A trainable tensor and its name.
template <class T>
struct Parameter {
  std::string name;      ///< the full path, as PyTorch writes it: "encoder.layers.0.norm1.weight"
  Variable<T> variable;  ///< a leaf
  WeightDecay weight_decay = WeightDecay::on;  ///< unless a ParameterGroup says otherwise
};

/// Fills a parameter's initial values. Drawn in double, so that a float and a double model start
/// equal.
using Initializer =
    std::function<void(std::span<double> values, const Shape& shape, const Rng& rng)>;

template <class T>
class Scope;

/// The parameters of a model, in the order in which they were made. Must outlive its scopes.
template <class T>
class Parameters {
 public:
  /// Initial values are a function of `seed` and of each parameter's name.
  explicit Parameters(std::uint64_t seed) : rng_(Rng(seed) / "init") {}
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  /// The place where names begin.
  Scope<T> root();

  /// Parameters made from now on whose names satisfy `frozen` require no gradient.
  void freeze(std::function<bool(const std::string& name)> frozen) { frozen_ = std::move(frozen); }

  /// Parameters in the order in which they were made.
  auto begin() const { return list_.begin(); }
  /// Behind the last of them.
  auto end() const { return list_.end(); }
  /// Number of parameters, as tensors.
  std::size_t size() const { return list_.size(); }
  /// Throws Error when there is none of that name.
  const Variable<T>& at(std::string_view name) const;
  /// Number of scalars in all parameters.
  std::size_t count() const;
  /// Forgets all gradients.
  void zero_grad() const;

 private:
  friend class Scope<T>;
  Variable<T> make(const std::string& name, const Shape& shape, const Initializer& init,
                   WeightDecay weight_decay);

  Rng rng_;
  std::function<bool(const std::string&)> frozen_;
  std::vector<Parameter<T>> list_;
};

/// A place in the tree of names: `scope / "attention"` descends.
template <class T>
class Scope {
 public:
  /// The place `name` below this one. Throws Error on an empty or dotted name.
  Scope operator/(std::string_view name) const;
  /// The place of a number below this one, as in a list of layers.
  Scope operator/(std::size_t index) const { return *this / std::to_string(index); }

  /// Makes the trainable leaf `name` of this shape. Throws Error on an empty or dotted name, on a
  /// name that is taken, and on a parameter at the root.
  Variable<T> parameter(std::string_view name, const Shape& shape, const Initializer& init,
                        WeightDecay weight_decay = WeightDecay::on) const;

  /// "encoder.layers.0"; empty at the root.
  const std::string& path() const { return path_; }
  /// The stream of random numbers that belongs to this place, for dropout.
  std::uint64_t site() const { return (Rng(0) / path_).key(); }

 private:
  friend class Parameters<T>;
  Scope(Parameters<T>& parameters, std::string path)
      : parameters_(&parameters), path_(std::move(path)) {}

  Parameters<T>* parameters_;
  std::string path_;
};

}  // namespace xgrad

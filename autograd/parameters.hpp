// Named parameters. Layers make their trainable leaves by scope.parameter(name, shape, init).
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

/// Whether optimizers apply weight decay to a parameter. Layers turn it off for biases, norms,
/// embeddings, positions and class tokens: smaller values of these do not make a model simpler.
enum class WeightDecay { on, off };

/// A trainable tensor and its name.
template <class T>
struct Parameter {
  std::string name;      ///< the full path, as PyTorch writes it: "encoder.layers.0.norm1.weight"
  Variable<T> variable;  ///< a leaf
  WeightDecay weight_decay = WeightDecay::on;  ///< a ParameterGroup can override it
  Shape shape = variable.shape();              ///< shape when the Parameter was made

  /// The value. Throws ShapeError if an assignment to mutable_value() has changed its shape.
  const Tensor<T>& value() const {
    detail::check_unchanged<T>(name, variable.value(), shape);
    return variable.value();
  }
};

/// Fills in a parameter's initial values, in double, so that float and double models start alike.
using Initializer =
    std::function<void(std::span<double> values, const Shape& shape, const Rng& rng)>;

template <class T>
class Scope;

/// Chooses the initializer of a parameter. `own` is the initializer that the layer would use.
using InitRule = std::function<Initializer(const std::string& name, WeightDecay weight_decay,
                                           const Initializer& own)>;

/// The parameters of a model, in the order of creation. Must outlive its scopes.
template <class T>
class Parameters {
 public:
  /// Starts empty. The initial values of a parameter depend on `seed` and on its name.
  explicit Parameters(std::uint64_t seed) : rng_(Rng(seed) / "init") {}
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  /// The scope at the root of the tree of names.
  Scope<T> root() { return Scope<T>(*this, ""); }

  /// Parameters made after this call require no gradient if their names satisfy `frozen`.
  void freeze(std::function<bool(const std::string& name)> frozen) { frozen_ = std::move(frozen); }

  /// Gives parameters made after this call the initial values that `rule` chooses.
  void initialize_by(InitRule rule) { init_rule_ = std::move(rule); }

  /// An iterator over the parameters in the order of creation.
  auto begin() const { return list_.begin(); }
  /// The end of the iteration over the parameters.
  auto end() const { return list_.end(); }
  /// The number of parameter tensors.
  std::size_t size() const { return list_.size(); }
  /// Adds a leaf that no Scope has made, with WeightDecay::on.
  void add(const std::string& name, const Variable<T>& leaf) { list_.push_back({name, leaf}); }
  /// The parameter of this name. Throws Error when there is none.
  const Variable<T>& at(std::string_view name) const;
  /// The number of scalars in all parameters.
  std::size_t count() const {
    std::size_t total = 0;
    for (const Parameter<T>& p : list_) total += p.value().size();
    return total;
  }
  /// Clears all gradients.
  void zero_grad() const {
    for (const Parameter<T>& p : list_) p.variable.zero_grad();
  }

 private:
  friend class Scope<T>;
  Variable<T> make(const std::string& name, const Shape& shape, const Initializer& init,
                   WeightDecay weight_decay);

  Rng rng_;
  std::function<bool(const std::string&)> frozen_;
  InitRule init_rule_;
  std::vector<Parameter<T>> list_;
};

/// Makes inference faster for inputs of few rows. Call pack_weights() when the weights no longer
/// change. For each weight, the first linear() or linear_gelu() whose input has at most 256 rows
/// then makes a copy of the weight, in the order in which matrix products read its elements.
/// Results have the same bits. A copy takes as much memory as its weight; mutable_value() drops the
/// copy. Any number of threads may compute with the weights. Weights in long double get no copies.
template <class T>
void pack_weights(const Parameters<T>& parameters);

/// A place in the tree of names. `scope / "attention"` is the place "attention" below `scope`.
template <class T>
class Scope {
 public:
  /// The place `name` below this place. Throws Error for a name that is empty or has a dot.
  Scope operator/(std::string_view name) const;
  /// The place with a number as its name, for example a layer in a list of layers.
  Scope operator/(std::size_t index) const { return *this / std::to_string(index); }

  /// Makes the trainable leaf `name` of this shape. Throws Error for a name that is empty, has a
  /// dot or is taken, and for a parameter at the root.
  Variable<T> parameter(std::string_view name, const Shape& shape, const Initializer& init,
                        WeightDecay weight_decay = WeightDecay::on) const;

  /// The path, such as "encoder.layers.0"; empty at the root.
  const std::string& path() const { return path_; }
  /// The id of the module at this place, a hash of the path. Dropout and observers use the id.
  std::uint64_t id() const { return (Rng(0) / path_).key(); }

 private:
  friend class Parameters<T>;
  Scope(Parameters<T>& parameters, std::string path)
      : parameters_(&parameters), path_(std::move(path)) {}

  Parameters<T>* parameters_;
  std::string path_;
};

}  // namespace xgrad

#include <xgrad/autograd/parameters.hpp>

#include <algorithm>

#include <xgrad/autograd/kernels/operands.hpp>

namespace xgrad {

namespace {

std::string join(const std::string& path, std::string_view name) {
  check<Error>(!name.empty() && name.find('.') == std::string_view::npos, "parameter name '",
               std::string(name), "' in '", path, "' must not be empty or contain a dot");
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

}  // namespace

template <class T>
const Variable<T>& Parameters<T>::at(std::string_view name) const {
  const auto found = std::find_if(list_.begin(), list_.end(),
                                  [&](const Parameter<T>& p) { return p.name == name; });
  check<Error>(found != list_.end(), "there is no parameter '", std::string(name), "'");
  return found->variable;
}

template <class T>
Variable<T> Parameters<T>::make(const std::string& name, const Shape& shape,
                                const Initializer& init, WeightDecay weight_decay) {
  check<Error>(std::none_of(list_.begin(), list_.end(),
                            [&](const Parameter<T>& p) { return p.name == name; }),
               "parameter '", name, "' is created twice");
  std::vector<double> values(size_of(shape));
  (init_rule_ ? init_rule_(name, weight_decay, init) : init)(values, shape, rng_ / name);
  Tensor<T> tensor = empty<T>(shape);
  std::transform(values.begin(), values.end(), tensor.data(), [](double v) { return T(v); });
  const bool trains = !frozen_ || !frozen_(name);
  return list_.emplace_back(name, Variable<T>(std::move(tensor), trains), weight_decay).variable;
}

template <class T>
Scope<T> Scope<T>::operator/(std::string_view name) const {
  return Scope(*parameters_, join(path_, name));
}

template <class T>
Variable<T> Scope<T>::parameter(std::string_view name, const Shape& shape, const Initializer& init,
                                WeightDecay weight_decay) const {
  check<Error>(!path_.empty(), "parameter '", std::string(name),
               "' belongs to no module; create it in a scope with a name");
  return parameters_->make(join(path_, name), shape, init, weight_decay);
}

template <class T>
void pack_weights(const Parameters<T>& parameters) {
  if (std::is_same_v<T, long double>) return;  // its products are not packed
  for (const Parameter<T>& p : parameters) {
    auto& packed = p.variable.shared_value()->packed;
    if (!packed) packed = std::make_shared<detail::PackedCopies<T>>();
  }
}

#define XGRAD_INSTANTIATE(T)                          \
  template decltype(pack_weights<T>) pack_weights<T>; \
  template class Parameters<T>;                       \
  template class Scope<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

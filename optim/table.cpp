#include <xgrad/optim/table.hpp>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/scalar.hpp>
#include <xgrad/optim/adagrad.hpp>
#include <xgrad/optim/adam.hpp>
#include <xgrad/optim/lion.hpp>
#include <xgrad/optim/rmsprop.hpp>
#include <xgrad/optim/sgd.hpp>

namespace xgrad {

namespace {

template <class T>
using Made = std::unique_ptr<Optimizer<T>>;

template <class T>
struct Entry {
  const char* name;
  std::vector<std::string> keys;
  Made<T> (*make)(const Parameters<T>&, const OptimizerOptions&);
};

template <class Kind, class T>
Made<T> make(const Parameters<T>& p, const OptimizerOptions& s) {
  return std::make_unique<Kind>(p, s);
}

template <class T, Decay decay>
Made<T> make_adam(const Parameters<T>& p, const OptimizerOptions& s) {
  return std::make_unique<Adam<T>>(p, s, decay);
}

template <class T>
const std::vector<Entry<T>>& table() {
  static const std::vector<Entry<T>> entries = {
      {"adagrad", {"eps"}, make<Adagrad<T>, T>},
      {"adam", {"beta1", "beta2", "eps"}, make_adam<T, Decay::l2>},
      {"adamw", {"beta1", "beta2", "eps"}, make_adam<T, Decay::decoupled>},
      {"lion", {"beta1", "beta2"}, make<Lion<T>, T>},
      {"rmsprop", {"alpha", "eps"}, make<RmsProp<T>, T>},
      {"sgd", {"momentum", "nesterov"}, make<Sgd<T>, T>},
  };
  return entries;
}

template <class T>
const Entry<T>& find(const std::string& name) {
  std::string known;
  for (const Entry<T>& entry : table<T>()) {
    if (entry.name == name) return entry;
    known += std::string(known.empty() ? "" : ", ") + entry.name;
  }
  detail::fail<ConfigError>("there is no optimizer '", name, "'; there are ", known);
}

}  // namespace

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const Entry<float>& entry : table<float>()) names.push_back(entry.name);
  return names;
}

const std::vector<std::string>& optimizer_keys(const std::string& name) {
  return find<float>(name).keys;
}

template <class T>
std::unique_ptr<Optimizer<T>> make_optimizer(const std::string& name,
                                             const Parameters<T>& parameters,
                                             const OptimizerOptions& options) {
  return find<T>(name).make(parameters, options);
}

#define XGRAD_INSTANTIATE(T)                                                                      \
  template std::unique_ptr<Optimizer<T>> make_optimizer(const std::string&, const Parameters<T>&, \
                                                        const OptimizerOptions&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

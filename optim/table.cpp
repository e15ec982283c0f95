#include <xgrad/optim/table.hpp>

#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/scalar.hpp>
#include <xgrad/optim/adam.hpp>
#include <xgrad/optim/sgd.hpp>

namespace xgrad {

namespace {

template <class T>
struct Entry {
  const char* name;
  std::unique_ptr<Optimizer<T>> (*make)(const Parameters<T>&, const OptimizerSettings&);
};

template <class T>
const std::vector<Entry<T>>& table() {
  using Made = std::unique_ptr<Optimizer<T>>;
  static const std::vector<Entry<T>> entries = {
      {"adam",
       [](const Parameters<T>& p, const OptimizerSettings& s) -> Made {
         return std::make_unique<Adam<T>>(p, s, Decay::gradient);
       }},
      {"adamw",
       [](const Parameters<T>& p, const OptimizerSettings& s) -> Made {
         return std::make_unique<Adam<T>>(p, s, Decay::decoupled);
       }},
      {"sgd",
       [](const Parameters<T>& p, const OptimizerSettings& s) -> Made {
         return std::make_unique<Sgd<T>>(p, s);
       }},
  };
  return entries;
}

}  // namespace

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const Entry<float>& entry : table<float>()) names.push_back(entry.name);
  return names;
}

template <class T>
std::unique_ptr<Optimizer<T>> make_optimizer(const std::string& name,
                                             const Parameters<T>& parameters,
                                             const OptimizerSettings& settings) {
  std::string known;
  for (const Entry<T>& entry : table<T>()) {
    if (entry.name == name) return entry.make(parameters, settings);
    known += std::string(known.empty() ? "" : ", ") + entry.name;
  }
  detail::fail<ConfigError>("there is no optimizer '", name, "'; there are ", known);
}

#define XGRAD_INSTANTIATE(T)                                                                      \
  template std::unique_ptr<Optimizer<T>> make_optimizer(const std::string&, const Parameters<T>&, \
                                                        const OptimizerSettings&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

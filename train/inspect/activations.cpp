#include <xgrad/train/inspect/activations.hpp>

#include <functional>
#include <set>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/layers/module.hpp>
#include <xgrad/train/inspect/module_paths.hpp>
#include <xgrad/train/model/build.hpp>

namespace xgrad {

namespace {

// Calls a function with the full name of each activation.
template <class T>
class NamedTaker final : public ActivationTaker<T> {
 public:
  using Take = std::function<Variable<T>(const std::string& name, const Variable<T>& x)>;
  NamedTaker(const Parameters<T>& parameters, Take take)
      : paths_(paths_by_id(parameters)), take_(std::move(take)) {}
  Variable<T> take(const ActivationPlace& place, const Variable<T>& x) override {
    return take_(paths_.at(place.module) + "." + place.name, x);
  }

 private:
  std::map<std::uint64_t, std::string> paths_;
  Take take_;
};

template <class T>
Tensor<double> logits(const SequenceModel<T>& model, const Parameters<T>& parameters,
                      const Batch& batch, typename NamedTaker<T>::Take take) {
  const NoGrad no_grad;
  NamedTaker<T> taker(parameters, std::move(take));
  Context context;
  context.activations = &taker;
  return cast<double>(model(BatchInput<T>(batch).input(), context).value());
}

}  // namespace

template <class T>
std::vector<CapturedActivation> capture_activations(const SequenceModel<T>& model,
                                                    const Parameters<T>& parameters,
                                                    const Batch& batch) {
  std::vector<CapturedActivation> captured;
  logits<T>(model, parameters, batch, [&](const std::string& name, const Variable<T>& x) {
    captured.push_back({name, cast<double>(x.value())});
    return x;
  });
  return captured;
}

template <class T>
Tensor<double> replace_activations(const SequenceModel<T>& model, const Parameters<T>& parameters,
                                   const Batch& batch,
                                   const std::map<std::string, Tensor<double>>& values) {
  std::set<std::string> seen;
  const auto take = [&](const std::string& name, const Variable<T>& x) {
    const auto found = values.find(name);
    if (found == values.end()) return x;
    seen.insert(name);
    check_shape(found->second.shape() == x.shape(), "activation ", name, ": expected shape ",
                to_string(x.shape()), ", got ", to_string(found->second.shape()));
    return Variable<T>(cast<T>(found->second));
  };
  Tensor<double> result = logits<T>(model, parameters, batch, take);
  for (const auto& [name, value] : values) {
    check<Error>(seen.contains(name), "the model has no activation ", excerpt(name),
                 "; `xgrad summary` lists them");
  }
  return result;
}

#define XGRAD_INSTANTIATE(T)                                                                 \
  template std::vector<CapturedActivation> capture_activations(                              \
      const SequenceModel<T>&, const Parameters<T>&, const Batch&);                          \
  template Tensor<double> replace_activations(const SequenceModel<T>&, const Parameters<T>&, \
                                              const Batch&,                                  \
                                              const std::map<std::string, Tensor<double>>&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

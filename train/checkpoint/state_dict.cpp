#include <xgrad/train/checkpoint/state_dict.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/disk/publish.hpp>

namespace xgrad {

// The prefixes of the names of averaged weights: of train.ema and of train.swa_start.
constexpr std::array kAverages = {"ema.", "swa."};

// If this state is the average of a parameter, the name of the parameter; otherwise empty.
static std::string_view averaged(std::string_view name) {
  for (const std::string_view kind : kAverages) {
    if (name.starts_with(kind)) return name.substr(kind.size());
  }
  return {};
}

template <class T>
constexpr const char* kScalarName = "float32";
template <>
constexpr const char* kScalarName<double> = "float64";

static const char* scalar_of(const AnyTensor& tensor) {
  return std::visit([]<class T>(const Tensor<T>&) { return kScalarName<T>; }, tensor);
}

using Shapes = std::vector<std::pair<std::string, Shape>>;

template <class T>
static Shapes shapes_of(const Parameters<T>& parameters) {
  Shapes shapes;
  for (const Parameter<T>& p : parameters) shapes.emplace_back(p.name, p.value().shape());
  return shapes;
}

// Returns a line for each difference in name, shape or, unless `scalar` is null, scalar type.
static std::string misfits(const char* kind, const std::vector<NamedTensor>& found,
                           const char* source, const Shapes& wanted, const char* scalar) {
  std::string text;
  const auto add = [&](const char* what, const std::string& name, const std::string& detail = "") {
    text += std::string("\n  ") + what + " " + kind + " " + name + detail;
  };
  const auto differs = [&](const std::string& what, const std::string& name,
                           const std::string& theirs, const std::string& ours) {
    if (theirs == ours) return false;
    add((what + " differs:").c_str(), name,
        std::string(": ") + source + " has " + theirs + ", the model " + ours);
    return true;
  };
  std::map<std::string, const AnyTensor*> unclaimed;
  for (const NamedTensor& t : found) {
    if (!unclaimed.emplace(t.name, &t.tensor).second) add("repeated", t.name);
  }
  for (const auto& [name, shape] : wanted) {
    const auto entry = unclaimed.extract(name);
    if (entry.empty()) {
      add("missing", name);
    } else if (!differs("shape", name, to_string(shape_of(*entry.mapped())), to_string(shape))) {
      if (scalar) differs("scalar type", name, scalar_of(*entry.mapped()), scalar);
    }
  }
  for (const auto& [name, tensor] : unclaimed) add("unexpected", name);
  return text;
}

template <class T>
static void copy(const std::vector<NamedTensor>& weights, const Parameters<T>& parameters) {
  for (const NamedTensor& t : weights) {
    T* to = parameters.at(t.name).mutable_value().data();
    std::visit([to](const auto& from) { std::copy_n(from.data(), from.size(), to); }, t.tensor);
  }
}

template <class T>
std::vector<NamedTensor> capture(const Parameters<T>& parameters) {
  std::vector<NamedTensor> tensors;
  for (const Parameter<T>& p : parameters) tensors.push_back({p.name, p.value()});
  return tensors;
}

template <class T>
using Whole = std::function<std::vector<Tensor<T>>(std::span<const OptimizerState<T>>)>;

template <class T>
Checkpoint capture(const Parameters<T>& parameters, const Optimizer<T>& optimizer,
                   const AveragedWeights<T>* average, const Whole<T>& whole) {
  Checkpoint checkpoint;
  checkpoint.parameters = capture(parameters);
  const auto add = [&](std::span<const OptimizerState<T>> states) {
    std::size_t k = 0;
    for (Tensor<T>& tensor : whole(states)) {
      checkpoint.optimizer.push_back({states[k++].name, std::move(tensor)});
    }
  };
  add(optimizer.state());
  if (average != nullptr) add(average->state());
  return checkpoint;
}

template <class T>
void restore(const Checkpoint& checkpoint, const Parameters<T>& parameters, Optimizer<T>& optimizer,
             AveragedWeights<T>* average) {
  Shapes states;
  for (const OptimizerState<T>& s : optimizer.state()) states.emplace_back(s.name, s.shape);
  if (average != nullptr) {
    for (const OptimizerState<T>& s : average->state()) states.emplace_back(s.name, s.shape);
  }
  const char* const source = "the checkpoint";
  const std::string text =
      misfits("parameter", checkpoint.parameters, source, shapes_of(parameters), kScalarName<T>) +
      misfits("optimizer state", checkpoint.optimizer, source, states, kScalarName<T>);
  check<CheckpointError>(text.empty(), "checkpoint of step ", checkpoint.step,
                         " does not fit the model:", text);
  copy(checkpoint.parameters, parameters);
  for (const auto& [name, any] : checkpoint.optimizer) {
    const auto& tensor = std::get<Tensor<T>>(any);
    averaged(name).empty() ? optimizer.set_state(name, tensor) : average->set_state(name, tensor);
  }
}

Checkpoint weights_of(const Checkpoint& checkpoint, bool raw) {
  Checkpoint weights;
  weights.step = checkpoint.step;
  weights.parameters = checkpoint.parameters;
  weights.config = checkpoint.config;
  if (const auto learned = checkpoint.state.find(kLearned); learned != checkpoint.state.end()) {
    weights.state.insert(*learned);
  }
  std::map<std::string_view, AnyTensor*> places;
  for (NamedTensor& t : weights.parameters) places[t.name] = &t.tensor;
  for (const NamedTensor& t : checkpoint.optimizer) {
    const auto place = places.find(averaged(t.name));
    if (!raw && place != places.end()) *place->second = t.tensor;
  }
  return weights;
}

template <class T>
std::string too_large(const NamedTensor& tensor) {
  const auto exceeds = [](auto x) { return std::abs(x) > std::numeric_limits<T>::max(); };
  const auto any = [&](const auto& x) { return std::any_of(x.begin(), x.end(), exceeds); };
  if (!std::visit(any, tensor.tensor)) return "";
  return "\n  too large for " + (kScalarName<T> + (": parameter " + tensor.name));
}

template <class T>
void restore_weights(const std::vector<NamedTensor>& weights, const std::string& origin,
                     const Parameters<T>& parameters) {
  std::string text = misfits("parameter", weights, "the file", shapes_of(parameters), nullptr);
  for (const NamedTensor& t : weights) text += too_large<T>(t);
  check<CheckpointError>(text.empty(), origin, " does not fit the model:", text);
  copy(weights, parameters);
}

#define XGRAD_INSTANTIATE(T)                                                         \
  template std::string too_large<T>(const NamedTensor&);                             \
  template void restore_weights(const std::vector<NamedTensor>&, const std::string&, \
                                const Parameters<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)
#undef XGRAD_INSTANTIATE

template <class T>
void save_checkpoint(const std::string& path, const Parameters<T>& parameters) {
  const auto [folder, name] = folder_and_name(path);
  publish_over(folder, name, to_hdf5({.parameters = capture(parameters)}));
}

template <class T>
void load_checkpoint(const std::string& path, const Parameters<T>& parameters) {
  restore_weights(load_checkpoint(path).parameters, path, parameters);
}

#define XGRAD_INSTANTIATE(T)                                                    \
  template void save_checkpoint(const std::string&, const Parameters<T>&);      \
  template void load_checkpoint(const std::string&, const Parameters<T>&);      \
  template std::vector<NamedTensor> capture(const Parameters<T>&);              \
  template Checkpoint capture(const Parameters<T>&, const Optimizer<T>&,        \
                              const AveragedWeights<T>*, const Whole<T>&);      \
  template void restore(const Checkpoint&, const Parameters<T>&, Optimizer<T>&, \
                        AveragedWeights<T>*);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

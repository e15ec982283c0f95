#include <xgrad/train/weights/state_dict.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/scalar.hpp>
#include <xgrad/storage/disk/publish.hpp>

namespace xgrad {

namespace {

// The kinds of averaged weights, which start their names: of train.ema and of train.swa_start.
constexpr std::array kAverages = {"ema.", "swa."};

// The name of the parameter of which this state is the average; empty if it is none.
std::string_view averaged(std::string_view name) {
  for (const std::string_view kind : kAverages) {
    if (name.starts_with(kind)) return name.substr(kind.size());
  }
  return {};
}

template <class T>
constexpr const char* kScalarName = "float32";
template <>
constexpr const char* kScalarName<double> = "float64";

const char* scalar_of(const AnyTensor& tensor) {
  return std::visit([]<class T>(const Tensor<T>&) { return kScalarName<T>; }, tensor);
}

template <class T>
bool is_of(const AnyTensor& tensor) {
  return std::visit([]<class U>(const Tensor<U>&) { return std::is_same_v<T, U>; }, tensor);
}

/// Compares names, shapes and scalar types in a file with those in memory and lists the
/// differences.
class Differences {
 public:
  /// `kind` is "parameter" or "optimizer state"; `source` is where the tensors were found.
  Differences(const char* kind, const std::vector<NamedTensor>& found,
              const char* source = "the checkpoint")
      : kind_(kind), source_(source) {
    for (const NamedTensor& t : found) {
      if (!unclaimed_.emplace(t.name, &t.tensor).second) add("repeated", t.name, "");
    }
  }

  /// Expects a tensor of this shape and of type T; `converted` allows any type.
  template <class T>
  void want(const std::string& name, const Shape& shape, bool converted = false) {
    const auto found = unclaimed_.find(name);
    if (found == unclaimed_.end()) return add("missing", name, "");
    const AnyTensor& tensor = *found->second;
    unclaimed_.erase(found);
    if (shape_of(tensor) != shape) {
      add("shape differs:", name, has(to_string(shape_of(tensor)), to_string(shape)));
    } else if (!converted && !is_of<T>(tensor)) {
      add("scalar type differs:", name, has(scalar_of(tensor), kScalarName<T>));
    }
  }

  /// Returns one line per difference; empty if everything fits.
  std::string text() {
    for (const auto& [name, tensor] : unclaimed_) add("unexpected", name, "");
    unclaimed_.clear();
    return text_;
  }

 private:
  std::string has(const std::string& found, const std::string& wanted) const {
    return std::string(": ") + source_ + " has " + found + ", the model " + wanted;
  }

  void add(const char* what, const std::string& name, const std::string& detail) {
    text_ += std::string("\n  ") + what + " " + kind_ + " " + name + detail;
  }

  const char* kind_;
  const char* source_;
  std::map<std::string, const AnyTensor*> unclaimed_;
  std::string text_;
};

template <class T>
std::string parameter_differences(const Checkpoint& checkpoint, const Parameters<T>& parameters) {
  Differences differences("parameter", checkpoint.parameters);
  for (const Parameter<T>& p : parameters) differences.want<T>(p.name, p.value().shape());
  return differences.text();
}

template <class T>
std::string optimizer_differences(const Checkpoint& checkpoint, const Optimizer<T>& optimizer,
                                  const AveragedWeights<T>* average) {
  Differences differences("optimizer state", checkpoint.optimizer);
  const auto want = [&](const std::vector<OptimizerState<T>>& state) {
    for (const OptimizerState<T>& s : state) differences.want<T>(s.name, s.shape);
  };
  want(optimizer.state());
  if (average != nullptr) want(average->state());
  return differences.text();
}

void check_same(const Checkpoint& checkpoint, const std::string& differences) {
  check<CheckpointError>(differences.empty(), "checkpoint of step ", checkpoint.step,
                         " does not fit the model:", differences);
}

template <class T>
void copy_parameters(const Checkpoint& checkpoint, const Parameters<T>& parameters) {
  for (const NamedTensor& t : checkpoint.parameters) {
    const auto& from = std::get<Tensor<T>>(t.tensor);
    std::copy_n(from.data(), from.size(), parameters.at(t.name).mutable_value().data());
  }
}

}  // namespace

template <class T>
std::vector<NamedTensor> capture(const Parameters<T>& parameters) {
  std::vector<NamedTensor> tensors;
  for (const Parameter<T>& p : parameters) tensors.push_back({p.name, p.value()});
  return tensors;
}

template <class T>
std::vector<NamedTensor> capture(const Optimizer<T>& optimizer, const AveragedWeights<T>* average) {
  std::vector<NamedTensor> tensors;
  for (const OptimizerState<T>& s : optimizer.state()) tensors.push_back({s.name, s.tensor});
  if (average == nullptr) return tensors;
  for (const OptimizerState<T>& s : average->state()) tensors.push_back({s.name, s.tensor});
  return tensors;
}

template <class T>
void restore(const Checkpoint& checkpoint, const Parameters<T>& parameters) {
  check_same(checkpoint, parameter_differences(checkpoint, parameters));
  copy_parameters(checkpoint, parameters);
}

template <class T>
void restore(const Checkpoint& checkpoint, const Parameters<T>& parameters, Optimizer<T>& optimizer,
             AveragedWeights<T>* average) {
  check_same(checkpoint, parameter_differences(checkpoint, parameters) +
                             optimizer_differences(checkpoint, optimizer, average));
  copy_parameters(checkpoint, parameters);
  for (const NamedTensor& t : checkpoint.optimizer) {
    const auto& tensor = std::get<Tensor<T>>(t.tensor);
    if (!averaged(t.name).empty()) {
      average->set_state(t.name, tensor);
    } else {
      optimizer.set_state(t.name, tensor);
    }
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
  std::map<std::string_view, const AnyTensor*> means;
  for (const NamedTensor& t : checkpoint.optimizer) {
    const std::string_view name = averaged(t.name);
    if (!name.empty() && !raw) means[name] = &t.tensor;
  }
  for (NamedTensor& t : weights.parameters) {
    const auto mean = means.find(t.name);
    if (mean != means.end()) t.tensor = *mean->second;
  }
  return weights;
}

template <class T>
std::string too_large(const NamedTensor& tensor) {
  const auto exceeds = [](auto x) { return std::abs(x) > std::numeric_limits<T>::max(); };
  const bool any =
      std::visit([&](const auto& x) { return std::any_of(x.data(), x.data() + x.size(), exceeds); },
                 tensor.tensor);
  if (!any) return "";
  return "\n  too large for " + (kScalarName<T> + (": parameter " + tensor.name));
}

template <class T>
void restore_weights(const std::vector<NamedTensor>& weights, const std::string& origin,
                     const Parameters<T>& parameters) {
  Differences differences("parameter", weights, "the file");
  for (const Parameter<T>& p : parameters) {
    differences.want<T>(p.name, p.value().shape(), /*converted=*/true);
  }
  std::string text = differences.text();
  for (const NamedTensor& t : weights) text += too_large<T>(t);
  check<CheckpointError>(text.empty(), origin, " does not fit the model:", text);
  for (const NamedTensor& t : weights) {
    T* to = parameters.at(t.name).mutable_value().data();
    std::visit([to](const auto& from) { std::copy_n(from.data(), from.size(), to); }, t.tensor);
  }
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
  restore(load_checkpoint(path), parameters);
}

#define XGRAD_INSTANTIATE(T)                                                                 \
  template void save_checkpoint(const std::string&, const Parameters<T>&);                   \
  template void load_checkpoint(const std::string&, const Parameters<T>&);                   \
  template std::vector<NamedTensor> capture(const Parameters<T>&);                           \
  template std::vector<NamedTensor> capture(const Optimizer<T>&, const AveragedWeights<T>*); \
  template void restore(const Checkpoint&, const Parameters<T>&);                            \
  template void restore(const Checkpoint&, const Parameters<T>&, Optimizer<T>&,              \
                        AveragedWeights<T>*);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

#include <xgrad/train/state_dict.hpp>

#include <algorithm>
#include <map>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

template <class T>
constexpr const char* kScalarName = "float32";
template <>
constexpr const char* kScalarName<double> = "float64";

const Shape& shape_of(const AnyTensor& tensor) {
  return std::visit([](const auto& t) -> const Shape& { return t.shape(); }, tensor);
}

const char* scalar_of(const AnyTensor& tensor) {
  return std::visit([]<class T>(const Tensor<T>&) { return kScalarName<T>; }, tensor);
}

/// Compares names, shapes and scalar types of what a file has with what memory wants, and keeps all
/// that differs.
class Differences {
 public:
  /// `kind` is "parameter" or "optimizer state".
  Differences(const char* kind, const std::vector<NamedTensor>& found) : kind_(kind) {
    for (const NamedTensor& t : found) {
      if (!unclaimed_.emplace(t.name, &t.tensor).second) add("repeated", t.name, "");
    }
  }

  template <class T>
  void want(const std::string& name, const Shape& shape) {
    const auto found = unclaimed_.find(name);
    if (found == unclaimed_.end()) return add("missing", name, "");
    const AnyTensor& tensor = *found->second;
    unclaimed_.erase(found);
    if (shape_of(tensor) != shape) {
      add("shape differs:", name,
          ": the checkpoint has " + to_string(shape_of(tensor)) + ", the model " +
              to_string(shape));
    } else if (!std::holds_alternative<Tensor<T>>(tensor)) {
      add("scalar type differs:", name,
          std::string(": the checkpoint has ") + scalar_of(tensor) + ", the model " +
              kScalarName<T>);
    }
  }

  /// One line for each difference; empty when everything fits.
  std::string text() {
    for (const auto& [name, tensor] : unclaimed_) add("unexpected", name, "");
    unclaimed_.clear();
    return text_;
  }

 private:
  void add(const char* what, const std::string& name, const std::string& detail) {
    text_ += std::string("\n  ") + what + " " + kind_ + " " + name + detail;
  }

  const char* kind_;
  std::map<std::string, const AnyTensor*> unclaimed_;
  std::string text_;
};

template <class T>
std::string parameter_differences(const Checkpoint& checkpoint, const Parameters<T>& parameters) {
  Differences differences("parameter", checkpoint.parameters);
  for (const Parameter<T>& p : parameters) differences.want<T>(p.name, p.variable.shape());
  return differences.text();
}

template <class T>
std::string optimizer_differences(const Checkpoint& checkpoint, const Optimizer<T>& optimizer) {
  Differences differences("optimizer state", checkpoint.optimizer);
  for (const OptimizerState<T>& s : optimizer.state()) {
    differences.want<T>(s.name, s.tensor.shape());
  }
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
  for (const Parameter<T>& p : parameters) tensors.push_back({p.name, p.variable.value()});
  return tensors;
}

template <class T>
std::vector<NamedTensor> capture(const Optimizer<T>& optimizer) {
  std::vector<NamedTensor> tensors;
  for (const OptimizerState<T>& s : optimizer.state()) tensors.push_back({s.name, s.tensor});
  return tensors;
}

template <class T>
void restore(const Checkpoint& checkpoint, const Parameters<T>& parameters) {
  check_same(checkpoint, parameter_differences(checkpoint, parameters));
  copy_parameters(checkpoint, parameters);
}

template <class T>
void restore(const Checkpoint& checkpoint, const Parameters<T>& parameters,
             Optimizer<T>& optimizer) {
  check_same(checkpoint, parameter_differences(checkpoint, parameters) +
                             optimizer_differences(checkpoint, optimizer));
  copy_parameters(checkpoint, parameters);
  for (const NamedTensor& t : checkpoint.optimizer) {
    optimizer.set_state(t.name, std::get<Tensor<T>>(t.tensor));
  }
}

#define XGRAD_INSTANTIATE(T)                                       \
  template std::vector<NamedTensor> capture(const Parameters<T>&); \
  template std::vector<NamedTensor> capture(const Optimizer<T>&);  \
  template void restore(const Checkpoint&, const Parameters<T>&);  \
  template void restore(const Checkpoint&, const Parameters<T>&, Optimizer<T>&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

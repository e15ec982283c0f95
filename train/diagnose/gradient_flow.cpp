#include <xgrad/train/diagnose/gradient_flow.hpp>

#include <algorithm>
#include <cmath>

#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

template <class T>
double largest_magnitude(const Tensor<T>& x) {
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    largest = std::max(largest, std::abs(double(x.data()[i])));
  }
  return largest;
}

}  // namespace

template <class T>
GradientFlow<T>::GradientFlow(const Parameters<T>& parameters)
    : trace_(parameters, {}, [this](const OpPlace& place, const OpCall& call) {
        call.kind == OpCall::Kind::forward ? forward(place, call) : backward(call);
      }) {
  for (const Parameter<T>& p : parameters) {
    made_at_[p.variable.shared_value().get()] = made_.size();
    made_.push_back({"the parameter"});
  }
}

template <class T>
void GradientFlow<T>::forward(const OpPlace& place, const OpCall& call) {
  Ran op{{}, made_.size(), call.node != 0};
  for (const Operand& x : call.inputs) {
    const auto found = made_at_.find(x.value);
    op.reads.push_back({found == made_at_.end() ? kConstant : found->second, x.gradient});
  }
  if (op.recorded) op_of_[call.node] = ops_.size();
  made_at_[call.result.value] = made_.size();
  made_.push_back({to_string(place), false, 0, call.owner});
  ops_.push_back(std::move(op));
}

template <class T>
void GradientFlow<T>::backward(const OpCall& call) {
  const auto found = op_of_.find(call.node);
  if (found == op_of_.end()) return;  // its forward ran before this object
  const Ran& op = ops_[found->second];
  // No op passed a gradient to this output, so backward() began there.
  if (Made& output = made_[op.output]; !output.arrived) {
    output.arrived = true;
    output.gradient = 1;
    losses_.push_back(op.output);
  }
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const void* const gradient = call.inputs[i].value;
    if (gradient == nullptr || op.reads[i].made == kConstant) continue;
    Made& input = made_[op.reads[i].made];
    input.arrived = true;
    input.gradient = largest_magnitude(*static_cast<const Tensor<T>*>(gradient));
  }
}

template <class T>
double GradientFlow<T>::gradient_of(const Variable<T>& x) const {
  const auto found = made_at_.find(x.shared_value().get());
  return found == made_at_.end() ? 0 : made_[found->second].gradient;
}

template <class T>
std::vector<bool> GradientFlow<T>::ops_of_the_loss() const {
  std::vector<bool> needed(made_.size()), ops(ops_.size());
  for (const std::size_t loss : losses_) needed[loss] = true;
  for (std::size_t i = ops_.size(); i-- > 0;) {
    ops[i] = needed[ops_[i].output];
    if (!ops[i]) continue;
    for (const Read& read : ops_[i].reads) {
      if (read.made != kConstant) needed[read.made] = true;
    }
  }
  return ops;
}

template <class T>
std::string GradientFlow<T>::end_of(const Parameter<T>& parameter) const {
  const std::size_t start = made_at_.at(parameter.variable.shared_value().get());
  const std::vector<bool> of_the_loss = ops_of_the_loss();
  // What was computed from the parameter, with a graph but without a gradient.
  std::vector<bool> dead(made_.size());
  dead[start] = true;
  std::size_t last = start;
  std::string stops, cut;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const Ran& op = ops_[i];
    const std::string& name = made_[op.output].name;
    for (const Read& read : op.reads) {
      if (read.made == kConstant || !dead[read.made]) continue;
      if (!op.recorded || !read.gradient) {
        const std::string& source = made_[read.made].name;
        const std::string what = read.made == start ? source : "the output of " + source;
        if (of_the_loss[i]) cut = name + " reads " + what + " without a gradient";
      } else if (made_[op.output].gradient != 0) {
        stops = name + " has a gradient, but passes on " +
                (made_[read.made].arrived ? "only zeros" : "none");
      } else {
        dead[op.output] = true;
        last = op.output;
      }
    }
  }
  if (!stops.empty()) return stops;
  if (!cut.empty()) return cut;
  return last == start ? "no op reads it" : "the loss does not depend on " + made_[last].name;
}

#define XGRAD_INSTANTIATE(T) template class GradientFlow<T>;
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

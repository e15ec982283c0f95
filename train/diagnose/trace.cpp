#include <xgrad/train/diagnose/trace.hpp>

#include <algorithm>

#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

std::string to_string(const OpPlace& place) {
  return "op " + std::to_string(place.number) + " " + place.op +
         (place.module.empty() ? "" : " in " + place.module) +
         (place.tensor.empty() ? "" : ": " + place.tensor);
}

template <class T>
Trace<T>::Trace(const Parameters<T>& parameters, See see, SeeCall see_call)
    : see_(std::move(see)),
      see_call_(std::move(see_call)),
      before_(op_observer()),
      observing_(*this) {
  for (const Parameter<T>& p : parameters) {
    names_[p.variable.shared_value().get()] = p.name;
    if (p.variable.requires_grad()) names_[&p.variable.node()->grad] = p.name;
    made_[p.variable.shared_value().get()] = {0, p.name.substr(0, p.name.rfind('.'))};
  }
}

template <class T>
void Trace<T>::begin(const char* name) {
  if (before_ != nullptr) before_->begin(name);
}

template <class T>
void Trace<T>::done() {
  if (before_ != nullptr) before_->done();
}

template <class T>
void Trace<T>::end(const OpCall& call) {
  if (before_ != nullptr) before_->end(call);
  if (call.scalar != sizeof(T)) return;
  if (call.kind == OpCall::Kind::forward) forward(call);
  if (call.kind == OpCall::Kind::backward) backward(call);
}

template <class T>
void Trace<T>::forward(const OpCall& call) {
  OpPlace place{++count_, call.name, "", ""};
  std::size_t latest = 0;
  for (const Operand& x : call.inputs) {
    const auto made = made_.find(x.value);
    if (x.value == nullptr || made == made_.end()) continue;
    const auto& [number, module] = made->second;
    const bool own = names_.contains(x.value);
    if (own || number > latest) place.module = module;
    if (own) break;
    latest = std::max(latest, number);
  }
  made_[call.result.value] = {place.number, place.module};  // a reused address is overwritten here
  if (call.node != 0) places_[call.node] = place;
  if (see_call_) see_call_(place, call);
  place.tensor = "output";
  if (see_) see_(place, *static_cast<const Tensor<T>*>(call.result.value));
}

template <class T>
void Trace<T>::backward(const OpCall& call) {
  const auto found = places_.find(call.node);
  if (found == places_.end()) return;  // its forward ran before this trace
  OpPlace place = found->second;
  if (see_call_) see_call_(place, call);
  for (std::size_t i = 0; see_ && i < call.inputs.size(); ++i) {
    const void* gradient = call.inputs[i].value;
    if (gradient == nullptr) continue;
    const auto name = names_.find(gradient);
    place.tensor =
        "gradient of " + (name == names_.end() ? "input " + std::to_string(i) : name->second);
    see_(place, *static_cast<const Tensor<T>*>(gradient));
  }
}

#define XGRAD_INSTANTIATE(T) template class Trace<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

#include <xgrad/optim/optimizer.hpp>

#include <algorithm>
#include <cmath>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

// Also fails for NaN, as do the comparisons of the other checks.
void check_fraction(const char* name, double value) {
  check<ConfigError>(value >= 0 && value < 1, "optimizer: ", name, ": expected 0 <= ", name,
                     " < 1, got ", value);
}

template <class Exception>
void check_at_least_0(const char* name, double value) {
  check<Exception>(value >= 0 && std::isfinite(value), "optimizer: ", name,
                   ": expected a finite number of at least 0, got ", value);
}

const OptimizerOptions& checked(const OptimizerOptions& s) {
  check_fraction("beta1", s.beta1);
  check_fraction("beta2", s.beta2);
  check_fraction("momentum", s.momentum);
  check_fraction("alpha", s.alpha);
  check_at_least_0<ConfigError>("eps", s.eps);
  check_at_least_0<ConfigError>("weight_decay", s.weight_decay);
  check<ConfigError>(!s.nesterov || s.momentum > 0, "optimizer: nesterov needs momentum above 0");
  return s;
}

}  // namespace

template <class T>
Optimizer<T>::Optimizer(const Parameters<T>& parameters, const OptimizerOptions& options,
                        const std::vector<std::string>& slots)
    : parameters_(&parameters), options_(checked(options)), slot_count_(slots.size()) {
  check<Error>(slots.size() <= 2, "optimizer: expected at most 2 slots, got ", slots.size());
  std::vector<std::string> names;
  for (const Parameter<T>& p : parameters) names.push_back(p.name);
  check_groups(options.groups, names);
  for (const Parameter<T>& p : parameters) {
    members_.push_back(member(p));
    trainable_ += members_.back().trains;
  }
  for (const std::string& slot : slots) add_state(slot);
}

// A parameter that lies outside the part has a state without elements.
template <class T>
void Optimizer<T>::add_state(const std::string& slot) {
  detail::FlatParameters flat;
  auto member = members_.begin();
  for (const Parameter<T>& p : *parameters_) {
    if (!(member++)->trains) continue;
    flat.append(p.value().size());
    const Range own = flat.run_of(options_.part, flat.count() - 1);
    const bool whole = own.size() == p.value().size();
    state_.push_back({slot + "." + p.name, zeros<T>(whole ? p.variable.shape() : Shape{own.size()}),
                      p.variable.shape(), own.begin});
  }
}

template <class T>
typename Optimizer<T>::Member Optimizer<T>::member(const Parameter<T>& p) const {
  Member member{trainable_, 0.0, 1.0, p.variable.requires_grad()};
  if (p.weight_decay == WeightDecay::on) member.weight_decay = options_.weight_decay;
  if (const ParameterGroup* group = group_of(options_.groups, p.name)) {
    member.lr_scale = group->lr_scale;
    member.weight_decay = group->weight_decay.value_or(member.weight_decay);
    member.trains = member.trains && !group->freeze;
  }
  return member;
}

template <class T>
void detail::set_state(std::vector<OptimizerState<T>>& state, const char* what,
                       std::string_view name, const Tensor<T>& tensor) {
  const auto found = std::find_if(state.begin(), state.end(),
                                  [&](const OptimizerState<T>& s) { return s.name == name; });
  check<Error>(found != state.end(), "there is no ", what, " '", name, "'");
  check_shape(tensor.shape() == found->shape, "the ", what, " '", name, "' has shape ",
              found->shape, ", not ", tensor.shape());
  std::copy_n(tensor.data() + found->first, found->tensor.size(), found->tensor.data());
}

template <class T>
void Optimizer<T>::require_gradients() const {
  std::string missing;
  auto member = members_.begin();
  for (const Parameter<T>& p : *parameters_) {
    if ((member++)->trains && !p.variable.has_grad()) missing += "\n  " + p.name;
  }
  check<NumericError>(missing.empty(), "optimizer: these parameters have no gradient:", missing);
}

template <class T>
ParameterSpan<T> Optimizer<T>::whole(std::size_t i, double lr) {
  const Variable<T>& variable = (parameters_->begin() + i)->variable;
  ParameterSpan<T> run{};
  run.lr = lr;
  run.size = variable.value().size();
  run.value = variable.mutable_value().data();
  run.grad.data = variable.grad().data();
  run.weight_decay = members_[i].weight_decay;
  run.lr_scale = members_[i].lr_scale;
  for (std::size_t slot = 0; slot < slot_count_; ++slot) {
    run.slots[slot] = state_[slot * trainable_ + members_[i].state].tensor.data();
  }
  return run;
}

template <class T>
void Optimizer<T>::step(double lr, double grad_scale) {
  check_at_least_0<NumericError>("step: lr", lr);
  check_at_least_0<NumericError>("step: grad_scale", grad_scale);
  check<Error>(parameters_->size() == members_.size(), "optimizer: the model had ", members_.size(),
               " parameters when the optimizer was created, but has ", parameters_->size(), " now");
  if (!checked_) require_gradients();
  checked_ = true;

  flat_.clear();
  wholes_.clear();
  firsts_.clear();
  for (std::size_t i = 0; i < parameters_->size(); ++i) {
    if (!members_[i].trains || !(parameters_->begin() + i)->variable.has_grad()) continue;
    wholes_.push_back(whole(i, lr));
    firsts_.push_back(slot_count_ == 0 ? 0 : state_[members_[i].state].first);
    flat_.append(wholes_.back().size);
  }
  prepare(lr, ++steps_);
  const auto update_run = [&](std::size_t i, std::size_t first, std::size_t n, std::size_t) {
    ParameterSpan<T> run = wholes_[i];
    run.size = n;
    run.value += first;
    run.grad = {run.grad.data + first, T(grad_scale)};
    for (std::size_t slot = 0; slot < slot_count_; ++slot) run.slots[slot] += first - firsts_[i];
    update(run);
  };
  flat_.parallel_runs(options_.part, update_run);
}

#define XGRAD_INSTANTIATE(T)                                                                      \
  template class Optimizer<T>;                                                                    \
  template void detail::set_state(std::vector<OptimizerState<T>>&, const char*, std::string_view, \
                                  const Tensor<T>&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

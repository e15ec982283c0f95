#include <xgrad/optim/optimizers.hpp>

#include <algorithm>
#include <cmath>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/nearest.hpp>
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

// Checks that each group matches a name.
void check_groups(const std::vector<ParameterGroup>& groups,
                  const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::string& pattern = groups[i].match;
    const auto check_factor = [i](const char* name, double value) {
      check<ConfigError>(value >= 0 && std::isfinite(value), "optim.groups[", i, "].", name,
                         ": is ", value, ", must be a finite number of at least 0");
    };
    check_factor("lr_scale", groups[i].lr_scale);
    check_factor("weight_decay", groups[i].weight_decay.value_or(0));
    const auto fits = [&](const std::string& name) { return matches(pattern, name); };
    if (std::any_of(names.begin(), names.end(), fits)) continue;
    const std::string near = names.empty() ? "none" : nearest_first(pattern, names)[0];
    detail::fail<ConfigError>("optim.groups[", i, "].match: \"", pattern,
                              "\" matches no parameter; the nearest name is ", near);
  }
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
    const double decay = p.weight_decay == WeightDecay::on ? options_.weight_decay : 0;
    Member member{trainable_, decay, 1, p.variable.requires_grad()};
    if (const ParameterGroup* group = group_of(options_.groups, p.name)) {
      member.lr_scale = group->lr_scale;
      member.weight_decay = group->weight_decay.value_or(decay);
      member.trains = member.trains && !group->freeze;
    }
    trainable_ += member.trains;
    members_.push_back(member);
  }
  for (const std::string& slot : slots) {
    detail::FlatParameters flat;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (!members_[i].trains) continue;
      const Parameter<T>& p = parameters.begin()[std::ptrdiff_t(i)];
      flat.append(p.value().size());
      // A parameter that lies outside the part has a state without elements.
      const Range own = flat.run_of(options_.part, flat.count() - 1);
      const Shape& whole = p.variable.shape();
      const Shape shape = own.size() == p.value().size() ? whole : Shape{own.size()};
      state_.push_back({slot + "." + p.name, zeros<T>(shape), whole, own.begin});
    }
  }
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
void Optimizer<T>::step(double lr, double grad_scale) {
  check_at_least_0<NumericError>("step: lr", lr);
  check_at_least_0<NumericError>("step: grad_scale", grad_scale);
  check<Error>(parameters_->size() == members_.size(), "optimizer: the model had ", members_.size(),
               " parameters when the optimizer was created, but has ", parameters_->size(), " now");
  std::string missing;
  auto member = members_.begin();
  for (const Parameter<T>& p : *parameters_) {
    if ((member++)->trains && !checked_ && !p.variable.has_grad()) missing += "\n  " + p.name;
  }
  check<NumericError>(missing.empty(), "optimizer: these parameters have no gradient:", missing);
  checked_ = true;

  flat_.clear();
  wholes_.clear();
  firsts_.clear();
  member = members_.begin();
  for (const Parameter<T>& p : *parameters_) {
    const auto [state, weight_decay, lr_scale, trains] = *member++;
    if (!trains || !p.variable.has_grad()) continue;
    const ScaledGradient<T> grad{p.variable.grad().data(), T(grad_scale)};
    ParameterSpan<T> whole{p.variable.value().size(),
                           p.variable.mutable_value().data(),
                           grad,
                           {},
                           weight_decay,
                           lr_scale,
                           lr};
    for (std::size_t slot = 0; slot < slot_count_; ++slot) {
      whole.slots[slot] = state_[slot * trainable_ + state].tensor.data();
    }
    wholes_.push_back(whole);
    firsts_.push_back(slot_count_ == 0 ? 0 : state_[state].first);
    flat_.append(whole.size);
  }
  prepare(lr, ++steps_);
  const auto update_run = [&](std::size_t i, std::size_t first, std::size_t n, std::size_t) {
    ParameterSpan<T> run = wholes_[i];
    run.size = n;
    run.value += first;
    run.grad.data += first;
    for (std::size_t slot = 0; slot < slot_count_; ++slot) run.slots[slot] += first - firsts_[i];
    update(run);
  };
  flat_.parallel_runs(options_.part, update_run);
}

#define XGRAD_INSTANTIATE(T)   \
  template class Optimizer<T>; \
  template decltype(detail::set_state<T>) detail::set_state<T>;
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

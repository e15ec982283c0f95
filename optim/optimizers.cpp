// The base class of the optimizers, the update rules with their formulas, and the table of names.
#include <xgrad/optim/optimizers.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/nearest.hpp>
#include <xgrad/autograd/portable_math.hpp>

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
  check_fraction("betas[0]", s.betas.first);
  check_fraction("betas[1]", s.betas.second);
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

// Replaces a subnormal number by 0. A decaying mean would become subnormal, and arithmetic on
// subnormal numbers is slow.
template <class T>
T without_subnormals(T x) {
  return std::abs(x) < std::numeric_limits<T>::min() ? T(0) : x;
}

// Adagrad, as torch.optim.Adagrad, with weight decay w (Duchi, Hazan & Singer 2011):
//   g <- g + w x;  s <- s + g^2;  x <- x - lr g / (sqrt(s) + eps)
template <class T>
struct Adagrad final : Optimizer<T> {
  using Optimizer<T>::Optimizer;

  void update(const ParameterSpan<T>& span) const override {
    const T eps = T(this->options().eps), decay = T(span.weight_decay);
    const T lr = T(span.lr) * T(span.lr_scale);
    const ScaledGradient<T> g = span.grad;
    T *x = span.value, *sum = span.slots[0];
#pragma omp simd
    for (std::size_t i = 0; i < span.size; ++i) {
      const T gi = g[i] + decay * x[i];
      sum[i] += gi * gi;
      x[i] -= lr * gi / (std::sqrt(sum[i]) + eps);
    }
  }
};

// Adam (Kingma & Ba 2015) and AdamW (Loshchilov & Hutter 2019), at step t:
//   m <- b1 m + (1 - b1) g;  v <- b2 v + (1 - b2) g^2;
//   x <- x - lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)
// With weight decay w, Adam uses g + w x in place of g (torch.optim.Adam); AdamW, which is
// decoupled, first multiplies x by 1 - lr w (torch.optim.AdamW).
template <class T, bool kDecoupled>
struct Adam final : Optimizer<T> {
  using Optimizer<T>::Optimizer;

  void prepare(double lr, std::uint64_t step) override {
    const auto [beta1, beta2] = this->options().betas;
    step_size_ = T(lr / (1 - portable::pow(beta1, double(step))));
    root_scale_ = T(1 / std::sqrt(1 - portable::pow(beta2, double(step))));
  }

  void update(const ParameterSpan<T>& span) const override {
    const auto& betas = this->options().betas;
    const T decay1 = T(1 - betas.first), beta2 = T(betas.second), decay2 = T(1 - betas.second);
    const T eps = T(this->options().eps);
    const T step_size = step_size_ * T(span.lr_scale), root_scale = root_scale_;
    const T l2 = kDecoupled ? T(0) : T(span.weight_decay);
    const T keep = kDecoupled ? T(1 - span.lr * span.lr_scale * span.weight_decay) : T(1);
    const ScaledGradient<T> g = span.grad;
    T *x = span.value, *m = span.slots[0], *v = span.slots[1];
#pragma omp simd
    for (std::size_t i = 0; i < span.size; ++i) {
      const T gi = g[i] + l2 * x[i];
      const T mi = without_subnormals(m[i] + decay1 * (gi - m[i]));
      const T vi = without_subnormals(beta2 * v[i] + decay2 * gi * gi);
      m[i] = mi;
      v[i] = vi;
      x[i] = keep * x[i] - step_size * mi / (std::sqrt(vi) * root_scale + eps);
    }
  }

 private:
  T step_size_, root_scale_;  // of the current step
};

// Lion, with decoupled weight decay w and sign(0) = 0 (Chen et al. 2023, algorithm 2). The paper
// uses b1 = 0.9, b2 = 0.99, and a learning rate that is a third to a tenth of AdamW's.
//   x <- (1 - lr w) x - lr sign(b1 m + (1 - b1) g);  m <- b2 m + (1 - b2) g
template <class T>
struct Lion final : Optimizer<T> {
  using Optimizer<T>::Optimizer;

  void update(const ParameterSpan<T>& span) const override {
    const auto& betas = this->options().betas;
    const T beta1 = T(betas.first), rest1 = T(1 - betas.first);
    const T beta2 = T(betas.second), rest2 = T(1 - betas.second);
    const T keep = T(1 - span.lr * span.lr_scale * span.weight_decay);
    const T lr = T(span.lr * span.lr_scale);
    const ScaledGradient<T> g = span.grad;
    T *x = span.value, *m = span.slots[0];
#pragma omp simd
    for (std::size_t i = 0; i < span.size; ++i) {
      const T gi = g[i];
      const T mean = beta1 * m[i] + rest1 * gi;
      const T sign = T(mean > 0) - T(mean < 0);
      x[i] = keep * x[i] - lr * sign;
      m[i] = without_subnormals(beta2 * m[i] + rest2 * gi);
    }
  }
};

// RMSprop with weight decay w, as torch.optim.RMSprop without momentum (Tieleman & Hinton 2012,
// lecture 6.5):
//   g <- g + w x;  v <- alpha v + (1 - alpha) g^2;  x <- x - lr g / (sqrt(v) + eps)
template <class T>
struct RmsProp final : Optimizer<T> {
  using Optimizer<T>::Optimizer;

  void update(const ParameterSpan<T>& span) const override {
    const OptimizerOptions& s = this->options();
    const T alpha = T(s.alpha), rest = T(1 - s.alpha), eps = T(s.eps);
    const T decay = T(span.weight_decay), lr = T(span.lr) * T(span.lr_scale);
    const ScaledGradient<T> g = span.grad;
    T *x = span.value, *v = span.slots[0];
#pragma omp simd
    for (std::size_t i = 0; i < span.size; ++i) {
      const T gi = g[i] + decay * x[i];
      v[i] = without_subnormals(alpha * v[i] + rest * gi * gi);
      x[i] -= lr * gi / (std::sqrt(v[i]) + eps);
    }
  }
};

// Stochastic gradient descent with momentum and weight decay w, as torch.optim.SGD without
// dampening; Nesterov's momentum replaces the last step (Sutskever et al. 2013):
//   g <- g + w x;  b <- momentum b + g;  x <- x - lr b, or x <- x - lr (g + momentum b)
template <class T>
struct Sgd final : Optimizer<T> {
  using Optimizer<T>::Optimizer;

  void update(const ParameterSpan<T>& span) const override {
    const T momentum = T(this->options().momentum), decay = T(span.weight_decay);
    const T lr = T(span.lr) * T(span.lr_scale);
    const ScaledGradient<T> g = span.grad;
    T *x = span.value, *b = span.slots[0];
    if (this->options().nesterov) {
#pragma omp simd
      for (std::size_t i = 0; i < span.size; ++i) {
        const T gi = g[i] + decay * x[i];
        b[i] = momentum * b[i] + gi;
        x[i] -= lr * (gi + momentum * b[i]);
      }
      return;
    }
#pragma omp simd
    for (std::size_t i = 0; i < span.size; ++i) {
      b[i] = momentum * b[i] + g[i] + decay * x[i];
      x[i] -= lr * b[i];
    }
  }
};

template <class T>
using Made = std::unique_ptr<Optimizer<T>>;

template <class T>
struct Entry {
  const char* name;
  std::vector<std::string> keys, slots;
  Made<T> (*make)(const Parameters<T>&, const OptimizerOptions&, const std::vector<std::string>&);
};

template <class Kind, class T>
Made<T> make(const Parameters<T>& parameters, const OptimizerOptions& options,
             const std::vector<std::string>& slots) {
  return std::make_unique<Kind>(parameters, options, slots);
}

template <class T>
const std::vector<Entry<T>>& table() {
  static const std::vector<Entry<T>> entries = {
      {"adagrad", {"eps"}, {"sum"}, make<Adagrad<T>, T>},
      {"adam", {"betas", "eps"}, {"exp_avg", "exp_avg_sq"}, make<Adam<T, false>, T>},
      {"adamw", {"betas", "eps"}, {"exp_avg", "exp_avg_sq"}, make<Adam<T, true>, T>},
      {"lion", {"betas"}, {"exp_avg"}, make<Lion<T>, T>},
      {"rmsprop", {"alpha", "eps"}, {"square_avg"}, make<RmsProp<T>, T>},
      {"sgd", {"momentum", "nesterov"}, {"momentum_buffer"}, make<Sgd<T>, T>},
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
    Tensor<T>& value = p.variable.mutable_value();
    ParameterSpan<T> whole{value.size(), value.data(), grad, {}, weight_decay, lr_scale, lr};
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
  const Entry<T>& entry = find<T>(name);
  return entry.make(parameters, options, entry.slots);
}

#define XGRAD_INSTANTIATE(T)                                    \
  template class Optimizer<T>;                                  \
  template decltype(detail::set_state<T>) detail::set_state<T>; \
  template decltype(make_optimizer<T>) make_optimizer<T>;
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

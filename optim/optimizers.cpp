// The update rules, each with its formula, and the table of their names.
#include <xgrad/optim/optimizers.hpp>

#include <cmath>
#include <limits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/portable_math.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

// A decaying mean would otherwise become subnormal, and arithmetic on subnormals is slow.
template <class T>
T without_subnormals(T x) {
  return std::abs(x) < std::numeric_limits<T>::min() ? T(0) : x;
}

// Adagrad, as torch.optim.Adagrad, with weight decay w (Duchi, Hazan & Singer 2011):
//   g <- g + w x;  s <- s + g^2;  x <- x - lr g / (sqrt(s) + eps)
template <class T>
struct Adagrad final : Optimizer<T> {
  Adagrad(const Parameters<T>& parameters, const OptimizerOptions& options)
      : Optimizer<T>(parameters, options, {"sum"}) {}

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
  Adam(const Parameters<T>& parameters, const OptimizerOptions& options)
      : Optimizer<T>(parameters, options, {"exp_avg", "exp_avg_sq"}) {}

  void prepare(double lr, std::uint64_t step) override {
    const OptimizerOptions& s = this->options();
    step_size_ = T(lr / (1 - portable::pow(s.beta1, double(step))));
    root_scale_ = T(1 / std::sqrt(1 - portable::pow(s.beta2, double(step))));
  }

  void update(const ParameterSpan<T>& span) const override {
    const OptimizerOptions& s = this->options();
    const T decay1 = T(1 - s.beta1), beta2 = T(s.beta2), decay2 = T(1 - s.beta2), eps = T(s.eps);
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

// Lion, with decoupled weight decay w and sign(0) = 0 (Chen et al. 2023, algorithm 2; published
// with b1 = 0.9, b2 = 0.99 and a learning rate a third to a tenth of AdamW's):
//   x <- (1 - lr w) x - lr sign(b1 m + (1 - b1) g);  m <- b2 m + (1 - b2) g
template <class T>
struct Lion final : Optimizer<T> {
  Lion(const Parameters<T>& parameters, const OptimizerOptions& options)
      : Optimizer<T>(parameters, options, {"exp_avg"}) {}

  void update(const ParameterSpan<T>& span) const override {
    const OptimizerOptions& s = this->options();
    const T beta1 = T(s.beta1), rest1 = T(1 - s.beta1), beta2 = T(s.beta2), rest2 = T(1 - s.beta2);
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
  RmsProp(const Parameters<T>& parameters, const OptimizerOptions& options)
      : Optimizer<T>(parameters, options, {"square_avg"}) {}

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
  Sgd(const Parameters<T>& parameters, const OptimizerOptions& options)
      : Optimizer<T>(parameters, options, {"momentum_buffer"}) {}

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
  std::vector<std::string> keys;
  Made<T> (*make)(const Parameters<T>&, const OptimizerOptions&);
};

template <class Kind, class T>
Made<T> make(const Parameters<T>& parameters, const OptimizerOptions& options) {
  return std::make_unique<Kind>(parameters, options);
}

template <class T>
const std::vector<Entry<T>>& table() {
  static const std::vector<Entry<T>> entries = {
      {"adagrad", {"eps"}, make<Adagrad<T>, T>},
      {"adam", {"beta1", "beta2", "eps"}, make<Adam<T, false>, T>},
      {"adamw", {"beta1", "beta2", "eps"}, make<Adam<T, true>, T>},
      {"lion", {"beta1", "beta2"}, make<Lion<T>, T>},
      {"rmsprop", {"alpha", "eps"}, make<RmsProp<T>, T>},
      {"sgd", {"momentum", "nesterov"}, make<Sgd<T>, T>},
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
  return find<T>(name).make(parameters, options);
}

#define XGRAD_INSTANTIATE(T) template decltype(make_optimizer<T>) make_optimizer<T>;
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

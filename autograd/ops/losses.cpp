// cross_entropy, and losses that are means over pairs of a prediction x and a target y.

#include <cmath>
#include <numeric>
#include <vector>

#include <xgrad/autograd/kernels/loops.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parallel.hpp>

namespace xgrad {

namespace {

// A sum of losses over a divisor; 0 when nothing counts.
template <class T>
struct MeanOp : Op<T> {
  using Sum = detail::Sum<T>;

  // sum(begin, end) computes the sum of the losses of rows or elements begin ... end - 1. Blocks
  // are added in their order.
  template <class F>
  Value<T> mean(std::size_t n, std::size_t grain, const F& sum, Sum divisor) {
    std::vector<Sum> blocks((n + grain - 1) / grain);
    parallel_for(n, grain, [&](std::size_t begin, std::size_t end) {
      blocks[begin / grain] = sum(begin, end);
    });
    const Sum total = std::accumulate(blocks.begin(), blocks.end(), Sum(0));
    inverse = divisor > 0 ? Sum(1) / divisor : Sum(0);
    return as_value<T>(full(Shape{}, divisor > 0 ? T(total / divisor) : T(0)));
  }

  // dloss / divisor
  T scale(const Tensor<T>& dloss) const { return T(Sum(*dloss.data()) * inverse); }

  Sum inverse = 0;  // 1 / divisor
};

void check_normalizer(const char* op, const std::optional<double>& normalizer) {
  check_shape(!normalizer || *normalizer >= 0, op, ": expected normalizer >= 0, got ",
              normalizer.value_or(0));
}

// The loss of a row z with target y is sum_c t_c (lse(z) - z_c), with t_c = w_c (smoothing / V +
// [c = y] (1 - smoothing)) and class weights w. The mean divides by the sum of w_y over the targets
// that count. lse(z) = m + log sum_c exp(z_c - m), with m the largest logit, is kept as two terms:
// in one number, large logits would round the second term away.
template <class T>
struct CrossEntropyOp final : MeanOp<T> {
  using Sum = detail::Sum<T>;

  CrossEntropyOp(const Ids& targets, const CrossEntropyOptions& options)
      : targets(targets), options(options) {}
  const char* name() const override { return "cross_entropy"; }
  const char* arguments() const override { return "logits"; }

  Value<T> forward(const Inputs<T>& in) override {
    rows = detail::rows_of("cross_entropy", in[0].shape());
    check_inputs(in[0].shape());
    logits = in.save(0);
    largest = empty<T>({rows.count});
    log_sum = empty<T>({rows.count});
    spread_smoothing();
    const auto sum_rows = [&](std::size_t begin, std::size_t end) {
      Sum sum = 0;
      for (std::size_t row = begin; row < end; ++row) {
        if (counts(row)) sum += Sum(forward_row(row));
      }
      return sum;
    };
    return this->mean(rows.count, rows.grain(), sum_rows,
                      options.normalizer ? Sum(*options.normalizer) : weight_of_targets());
  }

  T forward_row(std::size_t row) {
    const T* z = logits->data() + row * rows.width;
    const T m = largest(row) = detail::row_max(z, rows.width);
    const T log = log_sum(row) = detail::log(detail::exp_sum(z, rows.width, m));
    const auto y = std::size_t(targets.data()[row]);
    T loss = T(1 - options.label_smoothing) * class_weight(y) * (log - (z[y] - m));
    if (options.label_smoothing > 0) {
      const T* rest = smoothing.data();
      loss += detail::sum_terms<T>(rows.width,
                                   [=](std::size_t c) { return rest[c] * (log - (z[c] - m)); });
    }
    return loss;
  }

  // d lse/dz_c = p_c = exp(z_c - lse), so dz_c = (p_c sum_k t_k - t_c) dloss / divisor.
  void backward(Tensor<T>& dloss, Grads<T>& dx) const override {
    const auto target = dx.target(0);
    const T scale = this->scale(dloss);
    parallel_for(rows.count, rows.grain(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        if (scale != T(0) && counts(row)) {
          backward_row(row, scale, target);
        } else {
          target.sums(row * rows.width, rows.width);
        }
      }
    });
  }

  void backward_row(std::size_t row, T scale, const typename Grads<T>::Target& target) const {
    const std::size_t n = rows.width;
    const auto y = std::size_t(targets.data()[row]);
    const T own = T(1 - options.label_smoothing) * class_weight(y);
    const T all = T(Sum(own) + smoothing_sum), m = largest.data()[row], log = log_sum.data()[row];
    const T *z = logits->data() + row * n, *rest = smoothing.data();
    target.add(row * n, n, [=](std::size_t c) {
      return scale * (all * detail::exp((z[c] - m) - log) - rest[c]);
    });
    target.data()[row * n + y] -= scale * own;
  }

  void spread_smoothing() {
    smoothing = empty<T>({rows.width});
    for (std::size_t c = 0; c < rows.width; ++c) {
      smoothing(c) = T(options.label_smoothing) / T(rows.width) * class_weight(c);
      smoothing_sum += Sum(smoothing(c));
    }
  }

  void check_inputs(const Shape& shape) const {
    const Shape expected(shape.begin(), shape.end() - 1);
    check_shape(targets.shape() == expected, "cross_entropy: logits ", shape, ": expected targets ",
                expected, ", got ", targets.shape());
    check_shape(options.class_weights.empty() || options.class_weights.size() == rows.width,
                "cross_entropy: logits ", shape, ": expected ", rows.width, " class weights, got ",
                options.class_weights.size());
    for (std::size_t row = 0; row < rows.count; ++row) {
      const std::int32_t y = targets.data()[row];
      if (!counts(row) || (y >= 0 && std::size_t(y) < rows.width)) continue;
      detail::fail<ShapeError>("cross_entropy: target ", y, " at ",
                               index_text(targets.shape(), row), ": expected a class in [0, ",
                               rows.width, ") or ", options.ignore_index);
    }
  }

  bool counts(std::size_t row) const { return targets.data()[row] != options.ignore_index; }
  T class_weight(std::size_t c) const {
    return options.class_weights.empty() ? T(1) : T(options.class_weights[c]);
  }
  Sum weight_of_targets() const {
    Sum sum = 0;
    for (std::size_t row = 0; row < rows.count; ++row) {
      if (counts(row)) sum += Sum(class_weight(std::size_t(targets.data()[row])));
    }
    return sum;
  }

  Ids targets;
  CrossEntropyOptions options;
  detail::RowLayout rows{};
  Saved<T> logits;
  Tensor<T> largest, log_sum;  // the two terms of each row's lse
  Tensor<T> smoothing;         // (V): the part of t that does not depend on the target
  Sum smoothing_sum = 0;       // sum of `smoothing` as rounded, so that gradients of a row sum to 0
};

// The mean of f(x, y), whose derivatives are fx(x, y) and fy(x, y).
template <class T, class F, class Fx, class Fy>
struct MeanLoss final : MeanOp<T> {
  using Sum = detail::Sum<T>;

  MeanLoss(const char* op, const LossOptions& options, F f, Fx fx, Fy fy)
      : op(op), options(options), f(f), fx(fx), fy(fy) {}
  const char* name() const override { return op; }
  const char* arguments() const override { return "x y"; }

  Value<T> forward(const Inputs<T>& in) override {
    check_shapes(in[0].shape(), in[1].shape());
    x = in.save(0);
    y = in.save(1);
    const auto sum = [&](std::size_t begin, std::size_t end) {
      const T *a = x->data() + begin, *b = y->data() + begin;
      // One loop with and without a mask, so that a mask of ones gives the same bits as no mask.
      const std::uint8_t* keep = options.mask ? options.mask->data() + begin : nullptr;
      return detail::sum_terms<Sum>(end - begin, [=, f = f](std::size_t i) {
        return keep == nullptr || keep[i] != 0 ? Sum(f(a[i], b[i])) : Sum(0);
      });
    };
    return this->mean(x->size(), detail::kElementGrain, sum,
                      options.normalizer ? Sum(*options.normalizer) : Sum(count()));
  }

  // loss = sum f(x_i, y_i) / divisor over unmasked i, so dx_i = dloss / divisor df/dx(x_i, y_i) for
  // these, and 0 elsewhere; dy likewise.
  void backward(Tensor<T>& dloss, Grads<T>& grads) const override {
    const T scale = this->scale(dloss);
    if (grads.wants(0)) grads.add(0, gradient(scale, fx));
    if (grads.wants(1)) grads.add(1, gradient(scale, fy));
  }

  template <class Derivative>
  Tensor<T> gradient(T scale, const Derivative& derivative) const {
    Tensor<T> d = empty<T>(x->shape());
    const T *a = x->data(), *b = y->data();
    const std::uint8_t* keep = options.mask ? options.mask->data() : nullptr;
    T* out = d.data();
    detail::for_elements(d.size(), [=](std::size_t i) {
      out[i] = keep == nullptr || keep[i] != 0 ? scale * derivative(a[i], b[i]) : T(0);
    });
    return d;
  }

  void check_shapes(const Shape& x, const Shape& y) const {
    check_shape(x == y, op, ": x has shape ", x, ", y ", y);
    check_shape(!options.mask || options.mask->shape() == x, op, ": x has shape ", x, ", the mask ",
                options.mask ? options.mask->shape() : Shape());
  }

  std::size_t count() const {
    if (!options.mask) return x->size();
    const std::uint8_t* keep = options.mask->data();
    return x->size() - std::size_t(std::count(keep, keep + x->size(), 0));
  }

  const char* op;
  LossOptions options;
  F f;
  Fx fx;
  Fy fy;
  Saved<T> x, y;
};

template <class T, class F, class Fx, class Fy>
Variable<T> mean_loss(const char* op, const Variable<T>& x, const Variable<T>& y,
                      const LossOptions& options, F f, Fx fx, Fy fy) {
  check_normalizer(op, options.normalizer);
  return apply<T>(std::make_unique<MeanLoss<T, F, Fx, Fy>>(op, options, f, fx, fy), {x, y});
}

// The mean of a function of x - y, for which fy = -fx.
template <class T, class F, class Fx>
Variable<T> distance_loss(const char* op, const Variable<T>& x, const Variable<T>& y,
                          const LossOptions& options, F f, Fx fx) {
  return mean_loss(op, x, y, options, f, fx, [fx](T a, T b) { return -fx(a, b); });
}

}  // namespace

template <class T>
Variable<T> cross_entropy(const Variable<T>& logits, const Ids& targets,
                          const CrossEntropyOptions& options) {
  check_shape(options.label_smoothing >= 0 && options.label_smoothing < 1,
              "cross_entropy: expected 0 <= label_smoothing < 1, got ", options.label_smoothing);
  for (const double weight : options.class_weights) {
    check_shape(weight >= 0, "cross_entropy: expected class weights >= 0, got ", weight);
  }
  check_normalizer("cross_entropy", options.normalizer);
  return apply<T>(std::make_unique<CrossEntropyOp<T>>(targets, options), {logits});
}

template <class T>
Variable<T> mse_loss(const Variable<T>& x, const Variable<T>& y, const LossOptions& options) {
  return distance_loss(
      "mse_loss", x, y, options, [](T a, T b) { return (a - b) * (a - b); },
      [](T a, T b) { return T(2) * (a - b); });
}

template <class T>
Variable<T> l1_loss(const Variable<T>& x, const Variable<T>& y, const LossOptions& options) {
  return distance_loss(
      "l1_loss", x, y, options, [](T a, T b) { return a < b ? b - a : a - b; },
      [](T a, T b) { return T(a > b) - T(a < b); });  // 0 at the kink
}

template <class T>
Variable<T> huber_loss(const Variable<T>& x, const Variable<T>& y, double delta,
                       const LossOptions& options) {
  check_shape(delta > 0, "huber_loss: expected delta > 0, got ", delta);
  const auto f = [delta = T(delta)](T a, T b) {
    const T d = a < b ? b - a : a - b;
    return d <= delta ? d * d / 2 : delta * (d - delta / 2);
  };
  const auto fx = [delta = T(delta)](T a, T b) {  // x - y, clamped to [-delta, delta]
    const T d = a - b;
    return d > delta ? delta : d < -delta ? -delta : d;
  };
  return distance_loss("huber_loss", x, y, options, f, fx);
}

// With s = 1 / (1 + e^-x): -y log s - (1 - y) log(1 - s) = max(x, 0) - x y + log(1 + e^-|x|), where
// e^ cannot overflow. As ds/dx = s (1 - s), the derivatives are s - y for x and -x for y.
template <class T>
Variable<T> binary_cross_entropy_with_logits(const Variable<T>& x, const Variable<T>& y,
                                             const LossOptions& options) {
  const auto f = [](T a, T b) {
    return (a > 0 ? a : T(0)) - a * b + detail::log1p(detail::exp(a > 0 ? -a : a));
  };
  const auto fx = [](T a, T b) {
    const T e = detail::exp(a > 0 ? -a : a);
    return (a > 0 ? T(1) : e) / (T(1) + e) - b;
  };
  return mean_loss("binary_cross_entropy_with_logits", x, y, options, f, fx,
                   [](T a, T) { return -a; });
}

#define XGRAD_INSTANTIATE(T)                            \
  template decltype(cross_entropy<T>) cross_entropy<T>; \
  template decltype(mse_loss<T>) mse_loss<T>;           \
  template decltype(l1_loss<T>) l1_loss<T>;             \
  template decltype(huber_loss<T>) huber_loss<T>;       \
  template decltype(binary_cross_entropy_with_logits<T>) binary_cross_entropy_with_logits<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

// Losses that are means over pairs of a prediction x and a target y.
#include <cmath>
#include <vector>

#include <xgrad/autograd/kernels/loops.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

// The mean of f(x, y), whose derivatives are fx(x, y) and fy(x, y).
template <class T, class F, class Fx, class Fy>
struct MeanLoss final : Op<T> {
  using Sum = detail::Sum<T>;

  MeanLoss(const char* op, const LossOptions& options, F f, Fx fx, Fy fy)
      : op(op), options(options), f(f), fx(fx), fy(fy) {}
  const char* name() const override { return op; }
  const char* arguments() const override { return "x y"; }

  Value<T> forward(const Inputs<T>& in) override {
    check_shapes(in[0].shape(), in[1].shape());
    x = in.save(0);
    y = in.save(1);
    const std::size_t n = x->size(), grain = detail::kElementGrain;
    std::vector<Sum> blocks((n + grain - 1) / grain);
    parallel_for(n, grain, [&](std::size_t begin, std::size_t end) {
      const T *a = x->data() + begin, *b = y->data() + begin;
      // One loop with and without a mask, so that a mask of ones gives the same bits as no mask.
      const std::uint8_t* keep = options.mask ? options.mask->data() + begin : nullptr;
      blocks[begin / grain] = detail::sum_terms<Sum>(end - begin, [=, f = f](std::size_t i) {
        return keep == nullptr || keep[i] != 0 ? Sum(f(a[i], b[i])) : Sum(0);
      });
    });
    Sum total = 0;
    for (const Sum sum : blocks) total += sum;
    const Sum divisor = options.normalizer ? Sum(*options.normalizer) : Sum(count());
    inverse = divisor > 0 ? Sum(1) / divisor : Sum(0);
    auto loss = make_value<T>({});
    *loss->data() = divisor > 0 ? T(total / divisor) : T(0);
    return loss;
  }

  // loss = sum f(x_i, y_i) / divisor over unmasked i, so dx_i = dloss / divisor df/dx(x_i, y_i) for
  // these, and 0 elsewhere; dy likewise.
  void backward(Tensor<T> dloss, Grads<T>& grads) const override {
    const T scale = T(Sum(*dloss.data()) * inverse);
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
  Sum inverse = 0;  // 1 / divisor; 0 when nothing counts
};

template <class T, class F, class Fx, class Fy>
Variable<T> mean_loss(const char* op, const Variable<T>& x, const Variable<T>& y,
                      const LossOptions& options, F f, Fx fx, Fy fy) {
  check_shape(!options.normalizer || *options.normalizer >= 0, op,
              ": expected normalizer >= 0, got ", options.normalizer.value_or(0));
  return apply<T>(std::make_unique<MeanLoss<T, F, Fx, Fy>>(op, options, f, fx, fy), {x, y});
}

// The derivatives of a function of x - y, where fy = -fx.
template <class T, class F, class Fx>
Variable<T> distance_loss(const char* op, const Variable<T>& x, const Variable<T>& y,
                          const LossOptions& options, F f, Fx fx) {
  return mean_loss(op, x, y, options, f, fx, [fx](T a, T b) { return -fx(a, b); });
}

}  // namespace

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
// e^ cannot overflow. As ds/dx = s (1 - s), the derivatives are s - y by x and -x by y.
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

#define XGRAD_INSTANTIATE(T)                                                                    \
  template Variable<T> mse_loss(const Variable<T>&, const Variable<T>&, const LossOptions&);    \
  template Variable<T> l1_loss(const Variable<T>&, const Variable<T>&, const LossOptions&);     \
  template Variable<T> huber_loss(const Variable<T>&, const Variable<T>&, double,               \
                                  const LossOptions&);                                          \
  template Variable<T> binary_cross_entropy_with_logits(const Variable<T>&, const Variable<T>&, \
                                                        const LossOptions&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

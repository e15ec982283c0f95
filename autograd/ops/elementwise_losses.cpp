// Losses that are the mean of a term over pairs of a prediction x and a target y. Each is a struct
// with the term and its derivatives.
#include <cmath>
#include <vector>

#include <xgrad/autograd/kernels/elementwise.hpp>
#include <xgrad/autograd/kernels/rows.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

template <class T>
struct MseLoss {
  static constexpr const char* kName = "mse_loss";
  T f(T x, T y) const { return (x - y) * (x - y); }
  T dx(T x, T y) const { return T(2) * (x - y); }
  T dy(T x, T y) const { return -dx(x, y); }
};

template <class T>
struct L1Loss {
  static constexpr const char* kName = "l1_loss";
  T f(T x, T y) const { return x < y ? y - x : x - y; }
  T dx(T x, T y) const { return T(x > y) - T(x < y); }  // 0 at the kink
  T dy(T x, T y) const { return -dx(x, y); }
};

// The derivative by x is x - y, clamped to [-delta, delta].
template <class T>
struct HuberLoss {
  static constexpr const char* kName = "huber_loss";
  T f(T x, T y) const {
    const T a = x < y ? y - x : x - y;
    return a <= delta ? a * a / 2 : delta * (a - delta / 2);
  }
  T dx(T x, T y) const {
    const T d = x - y;
    return d > delta ? delta : d < -delta ? -delta : d;
  }
  T dy(T x, T y) const { return -dx(x, y); }
  T delta;
};

// With s = 1 / (1 + e^-x): -y log s - (1 - y) log(1 - s) = max(x, 0) - x y + log(1 + e^-|x|), where
// e^ cannot overflow. As ds/dx = s (1 - s), the derivatives are s - y by x and -x by y.
template <class T>
struct BinaryCrossEntropy {
  static constexpr const char* kName = "binary_cross_entropy_with_logits";
  T f(T x, T y) const {
    return (x > 0 ? x : T(0)) - x * y + detail::log1p(detail::exp(x > 0 ? -x : x));
  }
  T dx(T x, T y) const {
    const T e = detail::exp(x > 0 ? -x : x);
    return (x > 0 ? T(1) : e) / (T(1) + e) - y;
  }
  T dy(T x, T) const { return -x; }
};

template <class T, class F>
struct MeanLoss final : Op<T> {
  using Sum = detail::Sum<T>;

  MeanLoss(F term, const LossOptions& options) : term(term), options(options) {}
  const char* name() const override { return F::kName; }
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
      blocks[begin / grain] = detail::sum_terms<Sum>(end - begin, [=, this](std::size_t i) {
        return keep == nullptr || keep[i] != 0 ? Sum(term.f(a[i], b[i])) : Sum(0);
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
    if (grads.wants(0)) grads.add(0, gradient(scale, [this](T a, T b) { return term.dx(a, b); }));
    if (grads.wants(1)) grads.add(1, gradient(scale, [this](T a, T b) { return term.dy(a, b); }));
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
    check_shape(x == y, F::kName, ": x has shape ", x, ", y ", y);
    check_shape(!options.mask || options.mask->shape() == x, F::kName, ": x has shape ", x,
                ", the mask ", options.mask ? options.mask->shape() : Shape());
  }

  std::size_t count() const {
    if (!options.mask) return x->size();
    const std::uint8_t* keep = options.mask->data();
    return x->size() - std::size_t(std::count(keep, keep + x->size(), 0));
  }

  F term;
  LossOptions options;
  Saved<T> x, y;
  Sum inverse = 0;  // 1 / divisor; 0 when nothing counts
};

template <class T, class F>
Variable<T> mean_loss(F term, const Variable<T>& x, const Variable<T>& y,
                      const LossOptions& options) {
  check_shape(!options.normalizer || *options.normalizer >= 0, F::kName,
              ": expected normalizer >= 0, got ", options.normalizer.value_or(0));
  return apply<T>(std::make_unique<MeanLoss<T, F>>(term, options), {x, y});
}

}  // namespace

template <class T>
Variable<T> mse_loss(const Variable<T>& x, const Variable<T>& y, const LossOptions& options) {
  return mean_loss(MseLoss<T>(), x, y, options);
}

template <class T>
Variable<T> l1_loss(const Variable<T>& x, const Variable<T>& y, const LossOptions& options) {
  return mean_loss(L1Loss<T>(), x, y, options);
}

template <class T>
Variable<T> huber_loss(const Variable<T>& x, const Variable<T>& y, double delta,
                       const LossOptions& options) {
  check_shape(delta > 0, "huber_loss: expected delta > 0, got ", delta);
  return mean_loss(HuberLoss<T>{T(delta)}, x, y, options);
}

template <class T>
Variable<T> binary_cross_entropy_with_logits(const Variable<T>& x, const Variable<T>& y,
                                             const LossOptions& options) {
  return mean_loss(BinaryCrossEntropy<T>(), x, y, options);
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

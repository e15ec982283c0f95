// An op with a choice of defects, to show that gradient checks find them.
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include <xgrad/autograd/op.hpp>

namespace xgrad::test {

enum class Defect {
  none,
  wrong_sign,           // of dx
  slightly_scaled,      // dx by 1 + 1e-6
  dropped_term,         // of dx
  swapped_saved,        // dx computed from w where it wants x
  missing_sum,          // dw of the last row instead of the sum over rows
  no_gradient,          // none for w
  nonlinear,            // dx by 1 + dy
  not_zero_at_zero,     // dx has a constant in it
  overwrites,           // dw forgets what was there
  changes_every_call,   // forward differs from call to call
  scratches_its_state,  // backward differs from call to call
};

/// x (M, N), w (N) -> y_mn = w_n x_mn^2 + x_mn
template <class T>
struct Planted final : Op<T> {
  explicit Planted(Defect defect) : defect(defect) {}
  const char* name() const override { return "planted"; }

  Value<T> forward(const Inputs<T>& in) override {
    x = in.save(0);
    w = in.save(1);
    static std::atomic<int> calls = 0;
    const T offset = defect == Defect::changes_every_call ? T(1e-9) * T(calls++) : T(0);
    auto y = make_value<T>(x->shape());
    const std::size_t n = w->size();
    for (std::size_t i = 0; i < x->size(); ++i) {
      const T v = x->data()[i] + offset;
      y->data()[i] = w->data()[i % n] * v * v + v;
    }
    factor = T(1) + offset;
    return y;
  }

  // dx = (2 w x + 1) dy, dw = sum over rows of x^2 dy.
  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
    const std::size_t n = w->size();
    if (dx.wants(1) && defect != Defect::no_gradient) {
      T* const dw = dx.target(1).sums(0, n);
      if (defect == Defect::overwrites) std::fill_n(dw, n, T(0));
      const std::size_t first = defect == Defect::missing_sum ? x->size() - n : 0;
      for (std::size_t i = first; i < x->size(); ++i) {
        dw[i % n] += x->data()[i] * x->data()[i] * dy.data()[i];
      }
    }
    for (std::size_t i = 0; i < dy.size(); ++i) dy.data()[i] = of_x(i, dy.data()[i]);
    if (defect == Defect::scratches_its_state) factor *= T(1) + T(1e-15);
    dx.add(0, std::move(dy));
  }

  T of_x(std::size_t i, T dy) const {
    const T v = x->data()[i];
    const T weight = w->data()[i % w->size()];
    const T right = (2 * weight * v + 1) * dy * factor;
    switch (defect) {
      case Defect::wrong_sign:
        return -right;
      case Defect::slightly_scaled:
        return right * (T(1) + T(1e-6));
      case Defect::dropped_term:
        return 2 * weight * v * dy;
      case Defect::swapped_saved:
        return (2 * weight * weight + 1) * dy;
      case Defect::nonlinear:
        return right * (1 + dy);
      case Defect::not_zero_at_zero:
        return right + T(1e-13);
      default:
        return right;
    }
  }

  Defect defect;
  mutable T factor = 1;
  Saved<T> x;
  Saved<T> w;
};

template <class T>
Variable<T> planted(const Variable<T>& x, const Variable<T>& w, Defect defect) {
  return apply<T>(std::make_unique<Planted<T>>(defect), {x, w});
}

}  // namespace xgrad::test

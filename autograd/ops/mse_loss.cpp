#include <vector>

#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/rows.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kBlock = 16384;

template <class T>
struct MseLoss final : Op<T> {
  const char* name() const override { return "mse_loss"; }

  Value<T> forward(const Inputs<T>& in) override {
    check_shape(in[0].shape() == in[1].shape(), "mse_loss: x has shape ", in[0].shape(), ", y ",
                in[1].shape());
    x = in.save(0);
    y = in.save(1);
    const std::size_t n = x->size();
    std::vector<detail::Sum<T>> blocks((n + kBlock - 1) / kBlock);
    parallel_for(n, kBlock, [&](std::size_t begin, std::size_t end) {
      detail::Sum<T> sum = 0;
      const T *a = x->data(), *b = y->data();
#pragma omp simd reduction(+ : sum)
      for (std::size_t i = begin; i < end; ++i)
        sum += detail::Sum<T>((a[i] - b[i]) * (a[i] - b[i]));
      blocks[begin / kBlock] = sum;
    });
    detail::Sum<T> total = 0;
    for (const detail::Sum<T> sum : blocks) total += sum;
    auto loss = make_value<T>({});
    *loss->data() = n == 0 ? T(0) : T(total / detail::Sum<T>(n));
    return loss;
  }

  // loss = sum (x - y)^2 / n, so dx = 2 (x - y) / n dloss and dy = -dx.
  void backward(Tensor<T> dloss, Grads<T>& grads) const override {
    const T scale = T(2) * *dloss.data() / T(x->size());
    for (std::size_t input = 0; input < 2; ++input) {
      if (!grads.wants(input)) continue;
      const T c = input == 0 ? scale : -scale;
      Tensor<T> d = empty<T>(x->shape());
      parallel_for(x->size(), kBlock, [&](std::size_t begin, std::size_t end) {
        const T *a = x->data(), *b = y->data();
        T* out = d.data();
#pragma omp simd
        for (std::size_t i = begin; i < end; ++i) out[i] = c * (a[i] - b[i]);
      });
      grads.add(input, std::move(d));
    }
  }

  Saved<T> x, y;
};

}  // namespace

template <class T>
Variable<T> mse_loss(const Variable<T>& x, const Variable<T>& y) {
  return apply<T>(std::make_unique<MseLoss<T>>(), {x, y});
}

#define XGRAD_INSTANTIATE(T) template Variable<T> mse_loss(const Variable<T>&, const Variable<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

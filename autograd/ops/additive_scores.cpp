#include <xgrad/autograd/kernels/elementwise.hpp>
#include <xgrad/autograd/kernels/rows.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

template <class T>
struct AdditiveScores final : Op<T> {
  const char* name() const override { return "additive_scores"; }
  const char* arguments() const override { return "q k weight"; }

  Value<T> forward(const Inputs<T>& in) override {
    check_inputs(in[0].shape(), in[1].shape(), in[2].shape());
    q = in.save(0), k = in.save(1), weight = in.save(2);
    batch = q->shape()[0], queries = q->shape()[1], keys = k->shape()[1];
    heads = weight->shape()[0], width = weight->shape()[1];
    auto y = make_value<T>({batch, heads, queries, keys});
    const std::size_t grain = detail::row_grain(keys * width);
    parallel_for(batch * heads * queries, grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        const std::size_t head = row / queries;
        const T *a = first(*q, head) + row % queries * heads * width, *b = first(*k, head);
        const T* w = weight->data() + head % heads * width;
        T* s = y->data() + row * keys;
        for (std::size_t j = 0; j < keys; ++j, b += heads * width) {
          s[j] = detail::sum_terms<T>(
              width, [=](std::size_t c) { return w[c] * detail::tanh(a[c] + b[c]); });
        }
      }
    });
    return y;
  }

  // s_ij = sum_c w_c t_ijc with t = tanh(q_ic + k_jc), and tanh' = 1 - tanh^2. For
  // g_ijc = ds_ij w_c (1 - t_ijc^2):
  //   dq_ic = sum_j g_ijc,  dk_jc = sum_i g_ijc,  dw_c = sum_ij ds_ij t_ijc.
  // t is recomputed. A head of a sample is one task, since its queries add to the same dk.
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    Tensor<T> dq = zeros<T>(q->shape()), dk = zeros<T>(k->shape());
    Tensor<T> sums = zeros<T>({batch, heads, width});
    const std::size_t grain = detail::row_grain(queries * keys * width);
    parallel_for(batch * heads, grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t head = begin; head < end; ++head) {
        for (std::size_t i = 0; i < queries * keys; ++i) {
          const std::size_t n = i / keys * heads * width, m = i % keys * heads * width;
          backward_pair(dy.data()[head * queries * keys + i], first(*q, head) + n,
                        first(*k, head) + m, weight->data() + head % heads * width,
                        first(dq, head) + n, first(dk, head) + m, sums.data() + head * width);
        }
      }
    });
    dx.add(0, std::move(dq));
    dx.add(1, std::move(dk));
    if (dx.wants(2)) dx.add(2, std::move(sums));
  }

  void backward_pair(T ds, const T* a, const T* b, const T* w, T* da, T* db, T* dw) const {
#pragma omp simd
    for (std::size_t c = 0; c < width; ++c) {
      const T t = detail::tanh(a[c] + b[c]);
      const T g = ds * w[c] * ((T(1) - t) * (T(1) + t));
      da[c] += g;
      db[c] += g;
      dw[c] += ds * t;
    }
  }

  // Token 0 of a head of x (B, N, H a); `head` counts heads across samples.
  template <class X>
  auto first(X& x, std::size_t head) const {
    return x.data() + head / heads * x.shape()[1] * heads * width + head % heads * width;
  }

  void check_inputs(const Shape& sq, const Shape& sk, const Shape& sw) const {
    check_shape(sq.size() == 3 && sk.size() == 3 && sw.size() == 2,
                "additive_scores: expected q (B, N, H a), k (B, M, H a), weight (H, a), got ", sq,
                ", ", sk, ", ", sw);
    check_shape(sq[0] == sk[0], "additive_scores: batch sizes (axis 0) differ: q ", sq, ", k ", sk);
    check_shape(sq[2] == sk[2] && sq[2] == sw[0] * sw[1],
                "additive_scores: widths (axis 2) of q and k, and the size of weight, differ: q ",
                sq, ", k ", sk, ", weight ", sw);
  }

  Saved<T> q, k, weight;
  std::size_t batch = 0, heads = 0, queries = 0, keys = 0, width = 0;
};

}  // namespace

template <class T>
Variable<T> additive_scores(const Variable<T>& q, const Variable<T>& k, const Variable<T>& weight) {
  return apply<T>(std::make_unique<AdditiveScores<T>>(), {q, k, weight});
}

#define XGRAD_INSTANTIATE(T) \
  template Variable<T> additive_scores(const Variable<T>&, const Variable<T>&, const Variable<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

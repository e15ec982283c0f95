// Benchmarks products of linear layers. The limit: OpenBLAS.
#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>

#include <xgrad/autograd/kernels/gemm.hpp>

#include "in_turn.hpp"

namespace xgrad::bench {

namespace {

// C (m, n) = op(A) op(B), over k.
struct Product {
  std::size_t m, n, k;
  Transpose a, b;

  std::size_t a_stride() const { return a == Transpose::yes ? m : k; }
  std::size_t b_stride() const { return b == Transpose::yes ? k : n; }
};

void ours(const Product& p, const float* a, const float* b, float* c) {
  parallel_gemm<float>(p.m, p.n, p.k, 1, {a, p.a_stride(), p.a}, {b, p.b_stride(), p.b}, 0, c, p.n);
}

void blas(const Product& p, const float* a, const float* b, float* c) {
  const auto flag = [](Transpose t) { return t == Transpose::yes ? CblasTrans : CblasNoTrans; };
  cblas_sgemm(CblasRowMajor, flag(p.a), flag(p.b), int(p.m), int(p.n), int(p.k), 1, a,
              int(p.a_stride()), b, int(p.b_stride()), 0, c, int(p.n));
}

void plain(const Product& p, const float* a, const float* b, float* c) {
  for (std::size_t i = 0; i < p.m; ++i) {
    for (std::size_t j = 0; j < p.n; ++j) {
      float sum = 0;
      for (std::size_t q = 0; q < p.k; ++q) {
        sum += (p.a == Transpose::yes ? a[q * p.m + i] : a[i * p.k + q]) *
               (p.b == Transpose::yes ? b[j * p.k + q] : b[q * p.n + j]);
      }
      c[i * p.n + j] = sum;
    }
  }
}

void measure(benchmark::State& state, const Product& p) {
  const Tensor<float> a = uniform({p.m * p.k}), b = uniform({p.k * p.n});
  Tensor<float> c = zeros<float>({p.m * p.n});
  const auto with = [&](auto* product) {
    return [&, product] { product(p, a.data(), b.data(), c.data()); };
  };
  in_turn(state, with(ours), {with(blas), with(plain)});
  state.counters["FLOP/s"] = benchmark::Counter(2.0 * double(p.m * p.n * p.k),
                                                benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace

// The products of a layer y (tokens, out) = x (tokens, in) W^T: forward, dX = dY W and dW = dY^T X.
void add_products() {
  constexpr std::size_t kShapes[][3] = {{512, 64, 64},    {512, 64, 256},   {2048, 128, 128},
                                        {2048, 128, 512}, {2080, 384, 384}, {2080, 384, 1536},
                                        {2080, 1536, 384}};
  for (const auto& [tokens, in, out] : kShapes) {
    const std::string shape = fmt::format("/{}/{}/{}", tokens, in, out);
    const auto add_one = [&](const char* name, const Product& p) {
      add(name + shape, [p](benchmark::State& state) { measure(state, p); });
    };
    add_one("forward", {tokens, out, in, Transpose::no, Transpose::yes});
    add_one("dx", {tokens, in, out, Transpose::no, Transpose::no});
    add_one("dw", {out, in, tokens, Transpose::yes, Transpose::no});
  }
}

}  // namespace xgrad::bench

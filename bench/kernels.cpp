// Each kernel against its limit: products against the BLAS, passes over memory against a copy.
#include <benchmark/benchmark.h>
#include <cblas.h>

#include <cstring>
#include <vector>

#include <xgrad/autograd/gemm.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parallel.hpp>

namespace {

using namespace xgrad;

Tensor<float> uniform(const Shape& shape) {
  Tensor<float> x = empty<float>(shape);
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = float(Rng(1).uniform(i) - 0.5);
  return x;
}

// Products of a linear layer y (tokens, out) = x (tokens, in) W^T: forward, dX = dY W and dW = dY^T
// X.
enum class Pass { forward, dx, dw };

struct Sizes {
  std::size_t m, n, k;
  Transpose a, b;
};

Sizes sizes(Pass pass, std::size_t tokens, std::size_t in, std::size_t out) {
  if (pass == Pass::forward) return {tokens, out, in, Transpose::no, Transpose::yes};
  if (pass == Pass::dx) return {tokens, in, out, Transpose::no, Transpose::no};
  return {out, in, tokens, Transpose::yes, Transpose::no};
}

template <Pass pass, bool blas>
void product(benchmark::State& state) {
  set_threads(1);
  openblas_set_num_threads(1);
  const auto [m, n, k, at, bt] = sizes(pass, std::size_t(state.range(0)),
                                       std::size_t(state.range(1)), std::size_t(state.range(2)));
  const Tensor<float> a = uniform({m * k}), b = uniform({k * n});
  Tensor<float> c = zeros<float>({m * n});
  const std::size_t lda = at == Transpose::yes ? m : k, ldb = bt == Transpose::yes ? k : n;
  for (auto _ : state) {
    if constexpr (blas) {
      cblas_sgemm(CblasRowMajor, at == Transpose::yes ? CblasTrans : CblasNoTrans,
                  bt == Transpose::yes ? CblasTrans : CblasNoTrans, int(m), int(n), int(k), 1,
                  a.data(), int(lda), b.data(), int(ldb), 0, c.data(), int(n));
    } else {
      parallel_gemm<float>(m, n, k, 1, {a.data(), lda, at}, {b.data(), ldb, bt}, 0, c.data(), n);
    }
    benchmark::ClobberMemory();
  }
  state.counters["FLOP/s"] =
      benchmark::Counter(2.0 * double(m * n * k), benchmark::Counter::kIsIterationInvariantRate);
}

void shapes(benchmark::internal::Benchmark* b) {
  b->Args({512, 64, 64})
      ->Args({512, 64, 256})
      ->Args({2048, 128, 128})
      ->Args({2048, 128, 512})
      ->Args({2080, 384, 384})
      ->Args({2080, 384, 1536})
      ->Args({2080, 1536, 384});
}
BENCHMARK(product<Pass::forward, false>)->Apply(shapes);
BENCHMARK(product<Pass::forward, true>)->Apply(shapes);
BENCHMARK(product<Pass::dx, false>)->Apply(shapes);
BENCHMARK(product<Pass::dx, true>)->Apply(shapes);
BENCHMARK(product<Pass::dw, false>)->Apply(shapes);
BENCHMARK(product<Pass::dw, true>)->Apply(shapes);

// An op on a (2048, 384) input, forward and backward; bytes of one tensor an iteration, so that the
// rate of `copy` divided by an op's is the op's time in copies.
constexpr std::size_t kRows = 2048, kWidth = 384;

void count_bytes(benchmark::State& state) {
  state.SetBytesProcessed(std::int64_t(state.iterations() * kRows * kWidth * sizeof(float)));
}

void copy(benchmark::State& state) {
  const Tensor<float> x = uniform({kRows, kWidth});
  Tensor<float> y = zeros<float>({kRows, kWidth});
  for (auto _ : state) {
    std::memcpy(y.data(), x.data(), x.size() * sizeof(float));
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}
BENCHMARK(copy);

template <class F>
void op(benchmark::State& state, const F& f) {
  set_threads(1);
  const Variable<float> x(uniform({32, kRows / 32, kWidth}), true);
  const Tensor<float> dy = uniform(x.shape());
  for (auto _ : state) {
    x.zero_grad();
    f(x).backward(dy);
  }
  count_bytes(state);
}

void layer_norm_op(benchmark::State& state) {
  const Variable<float> weight(uniform({kWidth}), true), bias(uniform({kWidth}), true);
  op(state, [&](const auto& x) { return layer_norm(x, weight, bias, 1e-5); });
}
BENCHMARK(layer_norm_op);

void gelu_op(benchmark::State& state) {
  op(state, [](const auto& x) { return gelu(x); });
}
BENCHMARK(gelu_op);

void dropout_op(benchmark::State& state) {
  op(state, [](const auto& x) { return dropout(x, Dropout{0.1, Rng(2), 0}); });
}
BENCHMARK(dropout_op);

// Self-attention, forward and backward: batch, tokens, width, heads.
void attention(benchmark::State& state) {
  set_threads(1);
  const auto at = [&](int i) { return std::size_t(state.range(i)); };
  const std::size_t batch = at(0), tokens = at(1), width = at(2);
  const Variable<float> qkv(uniform({batch, tokens, 3 * width}), true);
  const Tensor<float> dy = uniform({batch, tokens, width});
  const Attention how{.heads = at(3), .dropout = {double(state.range(4)) / 100, Rng(2), 0}};
  for (auto _ : state) {
    qkv.zero_grad();
    self_attention(qkv, how).backward(dy);
  }
  // Two products forward; five backward, one of which is forward's again.
  state.counters["FLOP/s"] = benchmark::Counter(14.0 * double(batch * tokens * tokens * width),
                                                benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(attention)
    ->Args({32, 16, 64, 4, 10})
    ->Args({32, 64, 128, 4, 10})
    ->Args({32, 64, 128, 4, 0})
    ->Args({32, 65, 384, 8, 10})
    ->Args({2, 1024, 256, 4, 10})
    ->Args({1, 4096, 128, 2, 0});

}  // namespace

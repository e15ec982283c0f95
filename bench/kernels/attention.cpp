// Benchmarks self-attention, forward and backward. The limit: its products alone, by OpenBLAS.
#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include <xgrad/autograd/ops.hpp>

#include "in_turn.hpp"

namespace xgrad::bench {

namespace {

struct Sizes {
  std::size_t batch, tokens, width, heads;
  double dropout;

  std::size_t head() const { return width / heads; }
};

// The seven products of each head: two in forward; in backward the scores again and four gradients.
void products(const Sizes& s, const float* qkv, float* dqkv, float* scores) {
  const int n = int(s.tokens), d = int(s.head()), row = int(3 * s.width);
  for (std::size_t at = 0; at < s.batch * s.heads; ++at) {
    const std::size_t head = at / s.heads * s.tokens * 3 * s.width + at % s.heads * s.head();
    const float *q = qkv + head, *k = q + s.width, *v = k + s.width;
    float *dq = dqkv + head, *dk = dq + s.width, *dv = dk + s.width;
    const auto to_scores = [&](const float* a, const float* b) {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, d, 1, a, row, b, row, 0, scores,
                  n);
    };
    const auto from_scores = [&](CBLAS_TRANSPOSE flag, const float* b, float* c) {
      cblas_sgemm(CblasRowMajor, flag, CblasNoTrans, n, d, n, 1, scores, n, b, row, 0, c, row);
    };
    to_scores(q, k);
    from_scores(CblasNoTrans, v, dq);
    to_scores(q, k);
    to_scores(q, v);
    from_scores(CblasTrans, q, dv);
    from_scores(CblasNoTrans, k, dq);
    from_scores(CblasTrans, q, dk);
  }
}

// One query of one head, forward and backward; p and dp hold a number for each key. dy is q.
void plain_query(const Sizes& s, const float* q, const float* k, const float* v, float* dq,
                 float* dk, float* dv, float* p, float* dp) {
  const std::size_t d = s.head(), row = 3 * s.width;
  float largest = -INFINITY, sum = 0, dot = 0;
  for (std::size_t m = 0; m < s.tokens; ++m) {
    p[m] = dp[m] = 0;
    for (std::size_t i = 0; i < d; ++i) p[m] += q[i] * k[m * row + i];
    for (std::size_t i = 0; i < d; ++i) dp[m] += q[i] * v[m * row + i];
    largest = std::max(largest, p[m] /= std::sqrt(float(d)));
  }
  for (std::size_t m = 0; m < s.tokens; ++m) sum += p[m] = std::exp(p[m] - largest);
  for (std::size_t m = 0; m < s.tokens; ++m) dot += (p[m] /= sum) * dp[m];
  std::vector<float> y(d);
  for (std::size_t m = 0; m < s.tokens; ++m) {
    const float ds = p[m] * (dp[m] - dot) / std::sqrt(float(d));
    for (std::size_t i = 0; i < d; ++i) {
      y[i] += p[m] * v[m * row + i];
      dq[i] += ds * k[m * row + i];
      dk[m * row + i] += ds * q[i];
      dv[m * row + i] += p[m] * q[i];
    }
  }
  benchmark::DoNotOptimize(y.data());
}

void plain(const Sizes& s, const float* qkv, float* dqkv) {
  std::vector<float> p(s.tokens), dp(s.tokens);
  for (std::size_t at = 0; at < s.batch * s.heads; ++at) {
    const std::size_t head = at / s.heads * s.tokens * 3 * s.width + at % s.heads * s.head();
    const float *k = qkv + head + s.width, *v = k + s.width;
    float *dk = dqkv + head + s.width, *dv = dk + s.width;
    for (std::size_t i = 0; i < s.tokens; ++i) {
      const std::size_t query = head + i * 3 * s.width;
      plain_query(s, qkv + query, k, v, dqkv + query, dk, dv, p.data(), dp.data());
    }
  }
}

void measure(benchmark::State& state, const Sizes& s) {
  const Variable<float> qkv(uniform({s.batch, s.tokens, 3 * s.width}), true);
  const Tensor<float> dy = uniform({s.batch, s.tokens, s.width});
  const AttentionOptions options{.heads = s.heads, .dropout = {s.dropout, Rng(2), 0}};
  const float* x = qkv.value().data();
  std::vector<float> gradient(qkv.value().size()), scores(s.tokens * s.tokens);
  in_turn(state,
          [&] {
            qkv.zero_grad();
            self_attention(qkv, options).backward(dy);
          },
          {[&] { products(s, x, gradient.data(), scores.data()); },
           [&] { plain(s, x, gradient.data()); }});
  state.counters["FLOP/s"] =
      benchmark::Counter(14.0 * double(s.batch * s.tokens * s.tokens * s.width),
                         benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace

void add_attention() {
  constexpr Sizes kSizes[] = {{32, 16, 64, 4, 0.1},  {32, 64, 128, 4, 0.1},  {32, 64, 128, 4, 0},
                              {32, 65, 384, 8, 0.1}, {2, 1024, 256, 4, 0.1}, {1, 4096, 128, 2, 0}};
  for (const Sizes& s : kSizes) {
    add(fmt::format("attention/{}/{}/{}/{}/{:g}", s.batch, s.tokens, s.width, s.heads, s.dropout),
        [s](benchmark::State& state) { measure(state, s); });
  }
}

}  // namespace xgrad::bench

#include "workload.hpp"

#include <algorithm>

#include <xgrad/autograd/kernels/gemm.hpp>
#include <xgrad/autograd/parallel.hpp>

namespace xgrad::bench {

// For all tokens: Y = X W^T, dX = dY W and dW = dY^T X.
void Products::linear(std::size_t in, std::size_t out) {
  const std::size_t rows = w_.batch * w_.tokens;
  const float *x = inputs_.data(), *w = weight_.data();
  parallel_gemm<float>(rows, out, in, 1, {x, in}, {w, in, Transpose::yes}, 0, results_.data(), out);
  parallel_gemm<float>(rows, in, out, 1, {x, out}, {w, in}, 0, results_.data(), in);
  parallel_gemm<float>(out, in, rows, 1, {x, out, Transpose::yes}, {x, in}, 0, dweight_.data(), in);
}

// For each head: forward S = Q K^T and P V; backward S again, dP = dY V^T, dV = P^T dY, dQ = dS K
// and dK = dS^T Q. In blocks of query rows, because no step needs all scores at once.
void Products::attention() {
  const std::size_t n = w_.tokens, d = w_.width / w_.heads, row = 3 * w_.width;
  const std::size_t block = std::min<std::size_t>(n, 128);
  parallel_for(w_.batch * w_.heads, 1, [&](std::size_t head, std::size_t) {
    Tensor<float> scores = empty<float>({block, n});
    float* s = scores.data();
    const std::size_t place = head / w_.heads * n * row + head % w_.heads * d;
    const float* x = inputs_.data() + place;
    float* y = results_.data() + place;
    for (std::size_t begin = 0; begin < n; begin += block) {
      const std::size_t rows = std::min(block, n - begin);
      const float* q = x + begin * row;
      for (int i = 0; i < 3; ++i) {
        gemm<float>(rows, n, d, 1, {q, row}, {x, row, Transpose::yes}, 0, s, n);
      }
      for (int i = 0; i < 2; ++i) {
        gemm<float>(rows, d, n, 1, {s, n}, {x, row}, 0, y + begin * row, row);
        gemm<float>(n, d, rows, 1, {s, n, Transpose::yes}, {q, row}, 0, y, row);
      }
    }
  });
}

double Products::run() {
  const std::size_t d = w_.width, widest = std::max(4 * d, w_.vocabulary);
  if (inputs_.dimension() == 0) {
    inputs_ = results_ = full<float>({w_.batch * w_.tokens, widest}, 0.5f);
    weight_ = dweight_ = full<float>({widest, d}, 0.5f);
  }
  for (std::size_t layer = 0; layer < w_.layers; ++layer) {
    linear(d, 3 * d);
    attention();
    linear(d, d);
    linear(d, 4 * d);
    linear(4 * d, d);
  }
  linear(d, w_.vocabulary);
  return double(*results_.data());
}

}  // namespace xgrad::bench

// Attention works on blocks of query rows and keys; nothing may be seen of them.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parallel.hpp>

#include "autograd/ops/attention_reference.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {

namespace {

struct Run {
  Tensor<double> y, dq, dk, dv;
};

template <class F>
Run run(const F& f, std::size_t n, std::size_t m) {
  const Variable<double> q(random_tensor({1, n, 3}, Rng(1)), true),
      k(random_tensor({1, m, 3}, Rng(2)), true), v(random_tensor({1, m, 2}, Rng(3)), true);
  const auto y = f(q, k, v);
  y.backward(random_tensor({1, n, 2}, Rng(4)));
  return {y.value(), q.grad(), k.grad(), v.grad()};
}

void expect_explicit(std::size_t n, std::size_t m, double p) {
  SCOPED_TRACE(testing::Message() << n << " queries, " << m << " keys, dropout " << p);
  auto mask = std::make_shared<Mask>(random_mask({1, m}, Rng(5), 0.8));
  (*mask)(0, 0) = (*mask)(0, m - 1) = 1;  // keys behind the last one would not be looked at
  const AttentionOptions options{.masks = {.key_mask = mask}, .dropout = {.p = p, .rng = Rng(6)}};
  const Run fused =
      run([&](const auto& q, const auto& k, const auto& v) { return attention(q, k, v, options); },
          n, m);
  const Run plain = run([&](const auto& q, const auto& k,
                            const auto& v) { return explicit_head(q, k, v, options, 0); },
                        n, m);
  EXPECT_TENSOR_NEAR(fused.y, plain.y, 1e-14);
  EXPECT_TENSOR_NEAR(fused.dq, plain.dq, 1e-14);
  EXPECT_TENSOR_NEAR(fused.dk, plain.dk, 1e-13);
  EXPECT_TENSOR_NEAR(fused.dv, plain.dv, 1e-13);
}

}  // namespace

TEST(AttentionBlocks, EdgesDoNotShow) {
  // A block has 96 rows of so many keys, and of 40 keys 65536 / 40.
  for (const std::size_t n : {95u, 96u, 97u, 191u, 192u, 193u}) expect_explicit(n, 1000, 0.1);
  for (const std::size_t n : {1637u, 1638u, 1639u}) expect_explicit(n, 40, 0.3);
  // A piece has 240 keys, which are transposed where more than one block of rows reads them.
  for (const std::size_t m : {239u, 240u, 241u, 479u, 480u, 481u}) expect_explicit(300, m, 0.1);
  for (const std::size_t m : {2u, 7u, 8u, 9u, 15u, 16u, 17u, 239u, 240u, 241u, 479u, 480u, 481u})
    expect_explicit(70, m, 0);
  expect_explicit(193, 720, 0.1);
  expect_explicit(257, 1023, 0.3);
  expect_explicit(1, 3000, 0.3);
  expect_explicit(3000, 1, 0.3);
}

TEST(AttentionBlocks, SameBitsForAnyNumberOfThreads) {
  const int before = threads();
  const std::size_t n = 500;  // four blocks of rows, three pieces of keys
  const auto qkv = random_tensor<float>({3, n, 48}, Rng(1)),
             dy = random_tensor<float>({3, n, 16}, Rng(2));
  const AttentionOptions options{
      .heads = 4,
      .masks = {.key_mask = std::make_shared<Mask>(random_mask({3, n}, Rng(3)))},
      .dropout = {.p = 0.1, .rng = Rng(4)}};
  std::vector<Tensor<float>> values, gradients;
  for (const int count : {1, 2, 5}) {
    set_threads(count);
    const Variable<float> x(qkv, true);
    const auto y = self_attention(x, options);
    y.backward(dy);
    values.push_back(y.value());
    gradients.push_back(x.grad());
  }
  set_threads(before);
  for (std::size_t i = 1; i < values.size(); ++i) {
    EXPECT_TRUE(same_bits(values[i], values[0]));
    EXPECT_TRUE(same_bits(gradients[i], gradients[0]));
  }
}

#ifndef __SANITIZE_ADDRESS__  // AddressSanitizer keeps freed memory for a while
static double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_maxrss) / 1024;
}

// 8192 x 8192 floats would be 256 MB.
TEST(AttentionBlocks, MemoryIsLinearInTheTokens) {
  const std::size_t n = 8192;
  const Variable<float> x(random_tensor<float>({1, n, 12}, Rng(1)), true);
  const double before = peak_megabytes();
  const auto y = self_attention(x, {});
  y.backward(full<float>(y.shape(), 1));
  EXPECT_LT(peak_megabytes() - before, 32);
  EXPECT_EQ(x.grad().size(), n * 12);
}
#endif

}  // namespace xgrad::test

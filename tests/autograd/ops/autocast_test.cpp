// Ops below a Autocast, against plain loops in double over operands rounded beforehand.
#include <gtest/gtest.h>

#include <cmath>

#include <xgrad/autograd/autocast.hpp>
#include <xgrad/autograd/kernels/bfloat16.hpp>
#include <xgrad/autograd/memory/memory.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/recompute.hpp>

#include "autograd/ops/attention_reference.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {
namespace {

using F = Variable<float>;
using Tensors = std::vector<Tensor<float>>;

Tensor<double> rounded_twice(const Tensor<float>& x) {
  Tensor<double> result = empty<double>(x.shape());
  for (std::size_t i = 0; i < x.size(); ++i) result.data()[i] = double(float(Bf16(x.data()[i])));
  return result;
}

// f(leaves) and, for the gradient dy of its result, the gradients of the leaves. Only forward runs
// below a Autocast.
template <class T, class Function>
std::vector<Tensor<T>> results(const Function& f, const std::vector<Tensor<T>>& values,
                               const Tensor<T>& dy, bool bf16) {
  std::vector<Variable<T>> leaves;
  for (const Tensor<T>& value : values) leaves.emplace_back(value, true);
  Variable<T> y;
  {
    const Autocast products(bf16);
    y = f(leaves);
  }
  y.backward(dy);
  std::vector<Tensor<T>> found{y.value()};
  for (const Variable<T>& leaf : leaves) found.push_back(leaf.grad());
  return found;
}

// Most elements agree to float's precision. A number between the products that float and double
// round to different neighbours in bfloat16 leaves a few with a larger difference.
void expect_near(const Tensor<float>& actual, const Tensor<double>& expected, const char* what,
                 double share = 1) {
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  double largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected.data()[i]));
  }
  std::size_t near = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::abs(double(actual.data()[i]) - expected.data()[i]);
    near += difference <= 3e-6 * largest;
    ASSERT_LE(difference, 1e-2 * largest) << what << " " << i;
  }
  EXPECT_GE(double(near), share * double(expected.size())) << what;
}

// Products of rounded operands: the result and the gradients of both factors.
template <class Function>
void expect_rounded_operands(const Function& f, const Tensor<float>& a, const Tensor<float>& b,
                             const Shape& result) {
  const auto dy = random_tensor<float>(result, Rng(9));
  const Tensors found = results<float>(f, {a, b}, dy, true);
  const auto wanted =
      results<double>(f, {rounded_twice(a), rounded_twice(b)}, rounded_twice(dy), true);
  for (std::size_t i = 0; i < found.size(); ++i) {
    expect_near(found[i], wanted[i], i == 0 ? "y" : i == 1 ? "da" : "db");
  }
}

TEST(Autocast, LinearRoundsItsOperands) {
  expect_rounded_operands(
      []<class T>(const std::vector<Variable<T>>& x) { return linear(x[0], x[1]); },
      random_tensor<float>({5, 7, 33}, Rng(1)), random_tensor<float>({21, 33}, Rng(2)), {5, 7, 21});
}

TEST(Autocast, BiasesAndTheirGradientsAreNotRounded) {
  const auto x = random_tensor<float>({9, 5}, Rng(1)), w = zeros<float>({3, 5});
  const auto b = random_tensor<float>({3}, Rng(2)), dy = random_tensor<float>({9, 3}, Rng(3));
  const auto f = [](const std::vector<F>& in) { return linear(in[0], in[1], in[2]); };
  const Tensors found = results<float>(f, {x, w, b}, dy, true);
  for (std::size_t j = 0; j < 3; ++j) {
    EXPECT_EQ(found[0](4, j), b(j));
    double sum = 0;
    for (std::size_t i = 0; i < 9; ++i) sum += dy(i, j);
    EXPECT_NEAR(found[3](j), sum, 1e-6);
  }
}

TEST(Autocast, MatmulRoundsItsOperands) {
  for (const int transposes : {0, 1, 2, 3}) {
    const bool at = transposes & 1, bt = transposes & 2;
    const auto a = random_tensor<float>(at ? Shape{3, 11, 6} : Shape{3, 6, 11}, Rng(1));
    for (const bool one : {false, true}) {  // b is broadcast, or has a matrix for each of a
      const Shape matrix = bt ? Shape{8, 11} : Shape{11, 8};
      const auto b = random_tensor<float>(one ? matrix : Shape{3, matrix[0], matrix[1]}, Rng(2));
      expect_rounded_operands(
          [&]<class T>(const std::vector<Variable<T>>& x) { return matmul(x[0], x[1], at, bt); }, a,
          b, {3, 6, 8});
    }
  }
}

// gelu and its slope of the rounded product; backward multiplies by the slope in bfloat16.
TEST(Autocast, LinearGeluRoundsItsOperandsAndItsSlope) {
  const auto x = random_tensor<float>({40, 33}, Rng(1)), w = random_tensor<float>({21, 33}, Rng(2));
  const auto b = random_tensor<float>({21}, Rng(3)), dy = random_tensor<float>({40, 21}, Rng(4));
  const auto f = [](const std::vector<F>& in) { return linear_gelu(in[0], in[1], in[2]); };
  const Tensors found = results<float>(f, {x, w, b}, dy, true);

  const auto rx = rounded_twice(x), rw = rounded_twice(w);
  Tensor<double> y = empty<double>({40, 21});
  Tensor<float> dz = empty<float>({40, 21});
  for (std::size_t i = 0; i < 40; ++i) {
    for (std::size_t j = 0; j < 21; ++j) {
      double z = b(j);
      for (std::size_t p = 0; p < 33; ++p) z += rx(i, p) * rw(j, p);
      const double cdf = std::erfc(-z / std::sqrt(2.0)) / 2;
      const double pdf = std::exp(-z * z / 2) / std::sqrt(2 * M_PI);
      y(i, j) = z * cdf;
      dz(i, j) = dy(i, j) * float(Bf16(float(cdf + z * pdf)));
    }
  }
  expect_near(found[0], y, "y");
  const auto rdz = rounded_twice(dz);
  Tensor<double> dx = zeros<double>({40, 33}), dw = zeros<double>({21, 33});
  Tensor<double> db = zeros<double>({21});
  for (std::size_t i = 0; i < 40; ++i) {
    for (std::size_t j = 0; j < 21; ++j) {
      db(j) += dz(i, j);
      for (std::size_t p = 0; p < 33; ++p) {
        dx(i, p) += rdz(i, j) * rw(j, p);
        dw(j, p) += rdz(i, j) * rx(i, p);
      }
    }
  }
  expect_near(found[1], dx, "dx", 0.9);
  expect_near(found[2], dw, "dw", 0.9);
  expect_near(found[3], db, "db", 0.9);
}

struct HeadGradients {
  Tensor<double> y, dq, dk, dv;
};

// Attention of one head, with the roundings written out: of q, k, v and dy; of e^(s - max), times
// the dropout factor, before it multiplies v; of the probabilities after dropout, and of the
// gradients of the scores, before they multiply in backward.
HeadGradients plain_attention(const Tensor<float>& q, const Tensor<float>& k,
                              const Tensor<float>& v, const Tensor<float>& dy,
                              const AttentionOptions& options) {
  const std::size_t batch = q.shape()[0], n = q.shape()[1], m = k.shape()[1], d = q.shape()[2];
  const auto rq = rounded_twice(q), rk = rounded_twice(k), rv = rounded_twice(v);
  const auto rdy = rounded_twice(dy);
  const auto bf16 = [](double x) { return double(float(Bf16(float(x)))); };
  const double c = 1 / std::sqrt(double(d));
  HeadGradients g{zeros<double>(q.shape()), zeros<double>(q.shape()), zeros<double>(k.shape()),
                  zeros<double>(v.shape())};
  std::vector<double> s(m), e(m), dp(m);
  std::vector<float> factors(m, 1);
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t i = 0; i < n; ++i) {
      if (options.dropout.p > 0) {
        dropout_factors(*options.dropout.rng, options.dropout.p, std::uint32_t(b), 0,
                        std::uint32_t(i), m, factors.data());
      }
      double largest = -INFINITY, sum = 0, mean = 0;
      for (std::size_t j = 0; j < m; ++j) {
        s[j] = -INFINITY;
        if (!sees(options, b, i, j)) continue;
        s[j] = 0;
        for (std::size_t p = 0; p < d; ++p) s[j] += rq(b, i, p) * rk(b, j, p);
        s[j] *= c;
        largest = std::max(largest, s[j]);
      }
      for (std::size_t j = 0; j < m; ++j) sum += e[j] = std::exp(s[j] - largest);
      for (std::size_t j = 0; j < m; ++j) {
        for (std::size_t p = 0; p < d; ++p) {
          g.y(b, i, p) += bf16(e[j] * factors[j]) * rv(b, j, p) / sum;
        }
        dp[j] = 0;
        for (std::size_t p = 0; p < d; ++p) dp[j] += rdy(b, i, p) * rv(b, j, p);
        dp[j] *= factors[j];
        mean += e[j] / sum * dp[j];
      }
      for (std::size_t j = 0; j < m; ++j) {
        const double p_j = bf16(e[j] / sum * factors[j]), ds = bf16(e[j] / sum * (dp[j] - mean));
        for (std::size_t p = 0; p < d; ++p) {
          g.dv(b, j, p) += p_j * rdy(b, i, p);
          g.dq(b, i, p) += c * ds * rk(b, j, p);
          g.dk(b, j, p) += c * ds * rq(b, i, p);
        }
      }
    }
  }
  return g;
}

TEST(Autocast, AttentionRoundsItsOperands) {
  const Rng rng(1);
  const auto q = normal_tensor<float>({2, 70, 12}, rng / "q");
  const auto k = normal_tensor<float>({2, 50, 12}, rng / "k");
  const auto v = normal_tensor<float>({2, 50, 12}, rng / "v");
  const auto dy = normal_tensor<float>({2, 70, 12}, rng / "dy");
  AttentionOptions plain{.heads = 1}, causal{.heads = 1, .causal = true}, masked{.heads = 1};
  AttentionOptions drops{.heads = 1};
  auto keep = full<std::uint8_t>({2, 50}, 1);
  for (std::size_t j = 30; j < 50; ++j) keep(1, j) = 0;
  keep(0, 7) = 0;
  masked.masks.key_mask = std::make_shared<Mask>(keep);
  const Rng masks = rng / "dropout";
  drops.dropout.p = 0.2;
  drops.dropout.rng = masks;
  for (const AttentionOptions& options : {plain, causal, masked, drops}) {
    const auto f = [&](const std::vector<F>& x) { return attention(x[0], x[1], x[2], options); };
    const Tensors found = results<float>(f, {q, k, v}, dy, true);
    const HeadGradients wanted = plain_attention(q, k, v, dy, options);
    expect_near(found[0], wanted.y, "y", 0.97);
    expect_near(found[1], wanted.dq, "dq", 0.97);
    expect_near(found[2], wanted.dk, "dk", 0.9);
    expect_near(found[3], wanted.dv, "dv", 0.97);
  }
}

// More keys than a piece of scores holds: gradients then need the result of forward, in bfloat16.
TEST(Autocast, LongAttentionStaysNearFloat) {
  const Rng rng(2);
  const Tensors in{normal_tensor<float>({1, 600, 8}, rng / "q"),
                   normal_tensor<float>({1, 600, 8}, rng / "k"),
                   normal_tensor<float>({1, 600, 8}, rng / "v")};
  const auto dy = normal_tensor<float>({1, 600, 8}, rng / "dy");
  const auto f = [](const std::vector<F>& x) {
    return attention(x[0], x[1], x[2], {.heads = 2, .causal = true});
  };
  const Tensors bf16 = results<float>(f, in, dy, true), exact = results<float>(f, in, dy, false);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    double difference = 0, norm = 0;
    for (std::size_t e = 0; e < exact[i].size(); ++e) {
      difference += std::pow(double(bf16[i].data()[e]) - exact[i].data()[e], 2);
      norm += std::pow(double(exact[i].data()[e]), 2);
    }
    EXPECT_LT(std::sqrt(difference / norm), 0.01) << i;
    EXPECT_GT(difference, 0) << i;
  }
}

// A block as models have it, which reads one result several times.
F block(const std::vector<F>& x) {
  const F h = linear(x[0], x[1]);
  const F y = self_attention(h, {.heads = 2});
  return add(linear_gelu(y, x[2], F(), Gelu::tanh), linear(y, x[2]));
}

Tensors block_inputs() {
  return {random_tensor<float>({4, 130, 24}, Rng(1)), random_tensor<float>({72, 24}, Rng(2)),
          random_tensor<float>({24, 24}, Rng(3))};
}

void expect_same(const Tensors& actual, const Tensors& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_TRUE(same_bits(actual[i], expected[i]));
}

TEST(Autocast, SameBitsForAnyNumberOfThreads) {
  const int before = threads();
  const auto dy = random_tensor<float>({4, 130, 24}, Rng(4));
  set_threads(1);
  const Tensors one = results<float>(block, block_inputs(), dy, true);
  for (const int count : {2, 3, 8}) {
    set_threads(count);
    expect_same(results<float>(block, block_inputs(), dy, true), one);
  }
  set_threads(before);
}

// backward() runs outside of the Autocast, and so does the second run of the function.
TEST(Autocast, RecomputeGivesTheSameBits) {
  const auto again = [](const std::vector<F>& x) {
    return recompute<float>([x](const F& input) { return block({input, x[1], x[2]}); }, x[0]);
  };
  const auto dy = random_tensor<float>({4, 130, 24}, Rng(4));
  expect_same(results<float>(again, block_inputs(), dy, true),
              results<float>(block, block_inputs(), dy, true));
}

TEST(Autocast, DoubleIsNotRounded) {
  const std::vector<Tensor<double>> in{random_tensor({3, 5}, Rng(1)),
                                       random_tensor({4, 5}, Rng(2))};
  const auto f = [](const std::vector<Variable<double>>& x) { return linear(x[0], x[1]); };
  const auto dy = random_tensor({3, 4}, Rng(3));
  const auto on = results<double>(f, in, dy, true), off = results<double>(f, in, dy, false);
  for (std::size_t i = 0; i < on.size(); ++i) EXPECT_TRUE(same_bits(on[i], off[i]));
}

TEST(Autocast, ScoresOfMapsAreThoseOfAttention) {
  const auto q = random_tensor<float>({2, 9, 8}, Rng(1)),
             k = random_tensor<float>({2, 7, 8}, Rng(2));
  const Autocast products;
  const auto s = attention_scores(q, k, {.heads = 1, .scale = 1});
  const auto rq = rounded_twice(q), rk = rounded_twice(k);
  for (std::size_t i = 0; i < 9; ++i) {
    for (std::size_t j = 0; j < 7; ++j) {
      double sum = 0;
      for (std::size_t c = 0; c < 8; ++c) sum += rq(1, i, c) * rk(1, j, c);
      EXPECT_NEAR(s(1, 0, i, j), sum, 1e-6);
    }
  }
}

// Bytes that an op keeps for backward.
template <class Function>
std::int64_t kept(const Function& f) {
  const Counters counters;
  const F y = f();
  return counters.live_bytes() - std::int64_t(y.value().size() * sizeof(float));
}

TEST(Autocast, KeepsHalfOfTheMemoryOnce) {
  const F x(random_tensor<float>({64, 1024}, Rng(1)), true);
  const F w(random_tensor<float>({1024, 1024}, Rng(2)), true);
  const Autocast products;
  const F h = relu(x);
  const F* reads = &h;
  const std::int64_t half = 64 * 1024 * 2;
  const int before = threads();
  set_threads(1);
  linear(F(full<float>({64, 1024}, 1.0f)), w);  // the thread's work space is not counted
  F first;
  const std::int64_t once = kept([&] { return first = linear(*reads, w); });
  const std::int64_t twice = kept([&] { return linear(*reads, w); });
  EXPECT_GE(once, half);
  EXPECT_LT(once, half + 4096);
  EXPECT_LT(twice, 4096);  // shares the copy of the first
  EXPECT_LT(kept([&] { return linear_gelu(*reads, w); }), half + 4096);  // its slopes
  set_threads(before);
}

// A leaf can change between two forwards, so its rounded copy is made anew.
TEST(Autocast, SeesChangedLeaves) {
  const F x(full<float>({1, 1}, 1.0f), true), w(full<float>({1, 1}, 3.0f), true);
  const Autocast products;
  EXPECT_EQ(linear(x, w).value()(0, 0), 3);
  x.mutable_value()(0, 0) = 2;
  EXPECT_EQ(linear(x, w).value()(0, 0), 6);
  w.mutable_value()(0, 0) = 5;
  EXPECT_EQ(linear(x, w).value()(0, 0), 10);
}

// In a frozen layer, backward reads only the weight, for the gradient of the input.
TEST(Autocast, MayComeBeforeAChangeOfTheirOperands) {
  const auto input = random_tensor<float>({4, 3}, Rng(1)),
             frozen = random_tensor<float>({2, 3}, Rng(2));
  const auto dy = random_tensor<float>({4, 2}, Rng(3));
  for (const bool wanted : {false, true}) {
    const auto gradients = [&](bool changes) {
      const F x(input, wanted), w(frozen), b(zeros<float>({2}), true);
      F y;
      {
        const Autocast products;
        y = linear(x, w, b);
      }
      if (changes) {
        x.mutable_value().fill(7);
        if (!wanted) w.mutable_value().fill(7);
      }
      y.backward(dy);
      return Tensors{b.grad(), wanted ? x.grad() : b.grad()};
    };
    const Tensors found = gradients(true), expected = gradients(false);
    EXPECT_TRUE(same_bits(found[0], expected[0]));
    EXPECT_TRUE(same_bits(found[1], expected[1]));
  }
}

}  // namespace
}  // namespace xgrad::test

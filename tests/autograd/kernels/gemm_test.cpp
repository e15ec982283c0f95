// gemm() as callers see it; the kernels behind it have tests of their own.
#include <gtest/gtest.h>

#include <limits>

#include <xgrad/autograd/kernels/gemm.hpp>
#include <xgrad/autograd/parallel.hpp>

#include "support/tensors.hpp"

namespace xgrad::test {

namespace {

struct Product {
  std::size_t m, n, k;
  Transpose a_transpose, b_transpose;
  std::size_t gap;  // elements behind each row that do not belong to the matrix
  double alpha, beta;
};

template <class T>
class Gemm : public testing::Test {
 protected:
  using Run = void (*)(std::size_t, std::size_t, std::size_t, T, MatrixView<T>, MatrixView<T>, T,
                       T*, std::size_t);

  // The definition, in long double, and the gaps of C as they were.
  void expect_right(const Product& p, Run run) {
    const bool at = p.a_transpose == Transpose::yes;
    const bool bt = p.b_transpose == Transpose::yes;
    const Rng rng = Rng(1) / p.m / p.n / p.k;
    const Shape a_shape = at ? Shape{p.k, p.m + p.gap} : Shape{p.m, p.k + p.gap};
    const Shape b_shape = bt ? Shape{p.n, p.k + p.gap} : Shape{p.k, p.n + p.gap};
    const auto a = random_tensor<T>(a_shape, rng / "a");
    const auto b = random_tensor<T>(b_shape, rng / "b");
    const auto before = random_tensor<T>({p.m, p.n + p.gap}, rng / "c");
    Tensor<T> c = before;
    if (p.beta == 0) c.fill(std::numeric_limits<T>::quiet_NaN());  // must not be read
    run(p.m, p.n, p.k, T(p.alpha), {a.data(), a_shape[1], p.a_transpose},
        {b.data(), b_shape[1], p.b_transpose}, T(p.beta), c.data(), p.n + p.gap);

    for (std::size_t i = 0; i < p.m; ++i) {
      for (std::size_t j = 0; j < p.n; ++j) {
        long double sum = 0;
        long double terms = 0;
        for (std::size_t q = 0; q < p.k; ++q) {
          const long double term = static_cast<long double>(at ? a(q, i) : a(i, q)) *
                                   static_cast<long double>(bt ? b(j, q) : b(q, j));
          sum += term;
          terms += std::fabs(term);
        }
        const long double old = p.beta == 0 ? 0 : T(p.beta) * before(i, j);
        const long double limit = 8 * std::sqrt(double(p.k) + 1) *
                                  std::numeric_limits<T>::epsilon() *
                                  (std::fabs(p.alpha) * terms + std::fabs(old));
        ASSERT_LE(std::fabs(c(i, j) - (p.alpha * sum + old)), limit)
            << p.m << " x " << p.n << " x " << p.k << (at ? " T" : " N") << (bt ? "T" : "N");
      }
      for (std::size_t j = p.n; j < p.n + p.gap && p.beta != 0; ++j) {
        ASSERT_EQ(c(i, j), before(i, j)) << "a gap was written";
      }
    }
  }

  static void multiply_packed(std::size_t m, std::size_t n, std::size_t k, T alpha, MatrixView<T> a,
                              MatrixView<T> b, T beta, T* c, std::size_t ldc) {
    if constexpr (!std::is_same_v<T, long double>) {
      parallel_gemm<T>(m, alpha, a, PackedMatrix<T>(n, k, b), beta, c, ldc);
    } else {
      parallel_gemm<T>(m, n, k, alpha, a, b, beta, c, ldc);
    }
  }

  void expect_right_for_all_transposes(std::size_t m, std::size_t n, std::size_t k, std::size_t gap,
                                       double alpha, double beta) {
    for (const Transpose a : {Transpose::no, Transpose::yes}) {
      for (const Transpose b : {Transpose::no, Transpose::yes}) {
        expect_right({m, n, k, a, b, gap, alpha, beta}, gemm<T>);
        expect_right({m, n, k, a, b, gap, alpha, beta}, parallel_gemm<T>);
        expect_right({m, n, k, a, b, gap, alpha, beta}, multiply_packed);
      }
    }
  }
};

using Scalars = testing::Types<float, double, long double>;
TYPED_TEST_SUITE(Gemm, Scalars);

}  // namespace

// G4: all sizes around the widths of vectors and tiles.
TYPED_TEST(Gemm, IsTheDefinition) {
  for (std::size_t size = 1; size <= 67; ++size) {
    this->expect_right_for_all_transposes(size, 7, 5, size % 3, 1, 0);
    this->expect_right_for_all_transposes(6, size, 9, size % 2, 1, 1);
    this->expect_right_for_all_transposes(5, 11, size, size % 4, -0.5, 2);
  }
  this->expect_right_for_all_transposes(67, 67, 67, 5, 1, 0);
}

TYPED_TEST(Gemm, TakesEmptyMatrices) {
  this->expect_right_for_all_transposes(3, 4, 0, 0, 1, 0);
  this->expect_right_for_all_transposes(3, 4, 0, 1, 1, 0.5);
  this->expect_right_for_all_transposes(0, 4, 3, 0, 1, 0);
  this->expect_right_for_all_transposes(3, 0, 4, 1, 1, 0);
}

TYPED_TEST(Gemm, CutsLargeProductsRight) {
  this->expect_right_for_all_transposes(1100, 9, 13, 1, 1, 1);
  this->expect_right_for_all_transposes(9, 1100, 13, 1, 1, 1);
}

TYPED_TEST(Gemm, GivesTheSameBitsForAnyNumberOfThreads) {
  if (std::is_same_v<TypeParam, long double>) return;
  const int before = threads();
  const std::size_t m = 1300;
  const std::size_t n = 97;
  const std::size_t k = 131;
  const auto a = random_tensor<TypeParam>({m, k}, Rng(2));
  const auto b = random_tensor<TypeParam>({k, n}, Rng(3));
  Tensor<TypeParam> first;
  for (int count : {1, 2, 3, 8}) {
    set_threads(count);
    Tensor<TypeParam> c = empty<TypeParam>({m, n});
    parallel_gemm<TypeParam>(m, n, k, 1, {a.data(), k}, {b.data(), n}, 0, c.data(), n);
    if (count == 1) first = c;
    EXPECT_TRUE(same_bits(c, first)) << count << " threads";
    this->multiply_packed(m, n, k, 1, {a.data(), k}, {b.data(), n}, 0, c.data(), n);
    EXPECT_TRUE(same_bits(c, first)) << count << " threads, B packed before";
  }
  set_threads(before);
}

}  // namespace xgrad::test

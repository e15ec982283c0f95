// Large products against those of another program: OpenBLAS, through the BLAS layer of
// xtensor-blas.
#include <gtest/gtest.h>

#include <complex>

// Its configuration first, without which cxxblas takes loops of its own for a BLAS.
#include <xtensor-blas/xblas_config.hpp>

#include <xflens/cxxblas/cxxblas.cxx>
#ifndef HAVE_CBLAS
#error "cxxblas without a BLAS"
#endif

#include <xgrad/autograd/kernels/gemm.hpp>

#include "support/tensors.hpp"

namespace xgrad::test {

namespace {

cxxblas::Transpose flag(Transpose t) {
  return t == Transpose::yes ? cxxblas::Trans : cxxblas::NoTrans;
}

template <class T>
void expect_as_blas(std::size_t m, std::size_t n, std::size_t k, Transpose at, Transpose bt) {
  const auto a = random_tensor<T>({m * k}, Rng(1)), b = random_tensor<T>({k * n}, Rng(2));
  const std::size_t lda = at == Transpose::yes ? m : k, ldb = bt == Transpose::yes ? k : n;
  Tensor<T> c = random_tensor<T>({m, n}, Rng(3)), expected = c;
  const T alpha = T(1.5), beta = T(-0.5);
  parallel_gemm<T>(m, n, k, alpha, {a.data(), lda, at}, {b.data(), ldb, bt}, beta, c.data(), n);
  cxxblas::gemm(cxxblas::RowMajor, flag(at), flag(bt), int(m), int(n), int(k), alpha, a.data(),
                int(lda), b.data(), int(ldb), beta, expected.data(), int(n));
  T largest = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    largest = std::max(largest, std::abs(c.data()[i] - expected.data()[i]));
  }
  EXPECT_LE(largest, 8 * T(k) * std::numeric_limits<T>::epsilon())
      << m << " x " << n << " x " << k << (at == Transpose::yes ? " T" : " N")
      << (bt == Transpose::yes ? "T" : "N");
}

template <class T>
class Blas : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(Blas, Scalars);

}  // namespace

TYPED_TEST(Blas, GivesTheSameProducts) {
  for (const Transpose at : {Transpose::no, Transpose::yes}) {
    for (const Transpose bt : {Transpose::no, Transpose::yes}) {
      expect_as_blas<TypeParam>(1, 700, 900, at, bt);
      expect_as_blas<TypeParam>(700, 1, 900, at, bt);
      expect_as_blas<TypeParam>(513, 771, 1025, at, bt);
      expect_as_blas<TypeParam>(2080, 96, 384, at, bt);
    }
  }
}

}  // namespace xgrad::test

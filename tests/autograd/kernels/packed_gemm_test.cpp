// The packed products of every class of processors that this machine has, against the definition.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <xgrad/autograd/kernels/cpu.hpp>
#include <xgrad/autograd/kernels/gemm.hpp>
#include <xgrad/autograd/kernels/packed_gemm/packed_gemm.hpp>
#include <xgrad/autograd/memory/memory.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/random.hpp>

#include "autograd/kernels/packed_before.hpp"

namespace xgrad {
namespace {

// A sum over the rows of a batch may have more than 2^32 terms.
static_assert(detail::divide_up((std::size_t(1) << 32) + 1, 384) == 11'184'811);
static_assert(detail::divide_up(UINT32_MAX, 16) == std::size_t(1) << 28);
static_assert(detail::divide_up(5, std::size_t(1) << 33) == 1);
static_assert(detail::divide_up(0, 16) == 0 && detail::divide_up(17, 16) == 2);

template <class T>
struct Kernel {
  std::string name;
  test::PackedGemm<T> run, run_packed;  // with B packed before
};

template <class T, test::PackedGemm<T> run>
Kernel<T> kernel(const std::string& name) {
  return {name, run, test::packed_before<T, T, run>};
}

template <class T>
std::vector<Kernel<T>> kernels() {
  std::vector<Kernel<T>> all = {kernel<T, detail::packed_gemm<detail::Baseline, T>>("baseline")};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx"))
    all.push_back(kernel<T, detail::packed_gemm<detail::Avx, T>>("avx"));
  if (cpu() >= Cpu::avx2) all.push_back(kernel<T, detail::packed_gemm<detail::Avx2, T>>("avx2"));
  if (cpu() >= Cpu::avx512)
    all.push_back(kernel<T, detail::packed_gemm<detail::Avx512, T>>("avx512"));
#endif
  return all;
}

void* scratch() {
  static const std::vector<char, allocators::Allocator<char>> space(detail::kPackedGemmScratch);
  return const_cast<char*>(space.data());
}

template <class T>
std::vector<T> random_values(std::size_t n, std::uint64_t seed) {
  const Rng rng(seed);
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = T(2 * rng.uniform(i) - 1);
  return values;
}

// A product whose matrices are exactly as large as it may touch, so that the sanitizers see one
// step beyond.
template <class T>
struct Case {
  std::size_t m, n, k;
  bool a_transposed = false, b_transposed = false;
  std::size_t gap = 0;  // elements between rows that do not belong to the matrix
  T alpha = 1, beta = 0;
  std::vector<T> a = {}, b = {}, c = {};

  std::size_t a_stride() const { return (a_transposed ? m : k) + gap; }
  std::size_t b_stride() const { return (b_transposed ? k : n) + gap; }
  std::size_t c_stride() const { return n + gap; }

  static std::size_t extent(std::size_t rows, std::size_t columns, std::size_t stride) {
    return rows * columns == 0 ? 0 : (rows - 1) * stride + columns;
  }

  void fill() {
    a = random_values<T>(a_transposed ? extent(k, m, a_stride()) : extent(m, k, a_stride()), 1);
    b = random_values<T>(b_transposed ? extent(n, k, b_stride()) : extent(k, n, b_stride()), 2);
    c = random_values<T>(extent(m, n, c_stride()), 3);
  }

  detail::Product<T> product() {
    const auto flag = [](bool yes) { return yes ? Transpose::yes : Transpose::no; };
    return {m,
            n,
            k,
            alpha,
            {a.data(), a_stride(), flag(a_transposed)},
            {b.data(), b_stride(), flag(b_transposed)},
            beta,
            c.data(),
            c_stride()};
  }

  double expected(std::size_t i, std::size_t j, const std::vector<T>& old) const {
    double sum = 0;
    for (std::size_t p = 0; p < k; ++p) {
      sum += double(a_transposed ? a[p * a_stride() + i] : a[i * a_stride() + p]) *
             double(b_transposed ? b[j * b_stride() + p] : b[p * b_stride() + j]);
    }
    return double(alpha) * sum +
           (beta == T(0) ? 0 : double(beta) * double(old[i * c_stride() + j]));
  }

  std::string text() const {
    return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
           (a_transposed ? " T" : " N") + (b_transposed ? "T" : "N") + " gap " +
           std::to_string(gap) + " beta " + std::to_string(double(beta));
  }
};

// Every element against the definition in double, and not one element of the gaps touched; the same
// bits with B packed before.
template <class T>
void expect_product(const Kernel<T>& kernel, Case<T> x) {
  x.fill();
  const std::vector<T> old = x.c;
  kernel.run(x.product(), scratch());
  const double bound = 4 * double(std::numeric_limits<T>::epsilon()) * std::sqrt(double(x.k) + 1) *
                       (1 + std::sqrt(double(x.k)));
  std::size_t bad = 0;
  for (std::size_t at = 0; at < x.c.size(); ++at) {
    const std::size_t i = at / x.c_stride(), j = at % x.c_stride();
    const double want = j < x.n ? x.expected(i, j, old) : double(old[at]);
    if (!(std::abs(double(x.c[at]) - want) <= (j < x.n ? bound : 0)) && bad++ == 0) {
      ADD_FAILURE() << kernel.name << " " << x.text() << ": (" << i << ", " << j << ") is "
                    << x.c[at] << ", not " << want;
    }
  }
  const std::vector<T> unpacked = x.c;
  x.c = old;
  kernel.run_packed(x.product(), scratch());
  ASSERT_EQ(x.c, unpacked) << kernel.name << " " << x.text() << ", B packed before";
}

template <class T>
class PackedGemm : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PackedGemm, Scalars);

TYPED_TEST(PackedGemm, EverySmallSize) {
  for (const auto& kernel : kernels<TypeParam>()) {
    for (std::size_t size = 1; size <= 67; ++size) {
      for (const int transposes : {0, 1, 2, 3}) {
        const bool at = transposes & 1, bt = transposes & 2;
        expect_product<TypeParam>(kernel, {size, 19, 23, at, bt, size % 3, 1, 0});
        expect_product<TypeParam>(kernel, {13, size, 17, at, bt, size % 2, 1, 1});
        expect_product<TypeParam>(kernel, {15, 33, size, at, bt, 5, TypeParam(0.5), TypeParam(-2)});
        expect_product<TypeParam>(kernel, {size, size, size, at, bt, 0, 1, 0});
      }
    }
  }
}

TYPED_TEST(PackedGemm, OddLargeSizes) {
  for (const auto& kernel : kernels<TypeParam>()) {
    for (const int transposes : {0, 1, 2, 3}) {
      const bool at = transposes & 1, bt = transposes & 2;
      expect_product<TypeParam>(kernel, {131, 401, 389, at, bt, 1, 1, 0});
      expect_product<TypeParam>(kernel, {97, 65, 1171, at, bt, 3, TypeParam(1.5), 1});
      expect_product<TypeParam>(kernel, {5, 771, 385, at, bt, 7, 1, TypeParam(0.25)});
      expect_product<TypeParam>(kernel, {203, 10, 129, at, bt, 0, -1, 0});
      expect_product<TypeParam>(kernel, {1, 1, 2049, at, bt, 2, 1, 0});
    }
  }
}

TYPED_TEST(PackedGemm, NoTermsLeaveBetaC) {
  for (const auto& kernel : kernels<TypeParam>()) {
    expect_product<TypeParam>(kernel, {7, 21, 0, false, false, 1, 1, 0});
    expect_product<TypeParam>(kernel, {7, 21, 0, false, true, 1, 1, TypeParam(0.5)});
  }
}

TYPED_TEST(PackedGemm, BetaZeroDoesNotReadC) {
  for (const auto& kernel : kernels<TypeParam>()) {
    for (const std::size_t n : {5, 64, 70}) {
      Case<TypeParam> x{9, n, 400};
      x.fill();
      x.c.assign(x.c.size(), std::numeric_limits<TypeParam>::quiet_NaN());
      kernel.run(x.product(), scratch());
      for (const TypeParam value : x.c) ASSERT_TRUE(std::isfinite(value)) << kernel.name;
    }
  }
}

TYPED_TEST(PackedGemm, NanReachesItsRowOrColumnAndNoOther) {
  for (const auto& kernel : kernels<TypeParam>()) {
    for (const bool transposed : {false, true}) {
      Case<TypeParam> x{21, 37, 50, transposed, transposed};
      x.fill();
      const auto nan = std::numeric_limits<TypeParam>::quiet_NaN();
      (transposed ? x.a[4 * x.a_stride() + 8] : x.a[8 * x.a_stride() + 4]) = nan;
      (transposed ? x.b[35 * x.b_stride() + 6] : x.b[6 * x.b_stride() + 35]) = nan;
      kernel.run(x.product(), scratch());
      for (std::size_t i = 0; i < x.m; ++i) {
        for (std::size_t j = 0; j < x.n; ++j) {
          ASSERT_EQ(std::isnan(x.c[i * x.c_stride() + j]), i == 8 || j == 35)
              << kernel.name << " " << i << " " << j;
        }
      }
    }
  }
}

// What the exact reproducibility of training rests on: an element's bits depend on its row of A,
// its column of B and k, not on which rows and columns are computed with it.
TYPED_TEST(PackedGemm, SameBitsForEveryCut) {
  for (const auto& kernel : kernels<TypeParam>()) {
    for (const int transposes : {0, 1, 2, 3}) {
      Case<TypeParam> x{
          150, 203, 800, bool(transposes & 1), bool(transposes & 2), 0, TypeParam(1.25), 1};
      x.fill();
      const std::vector<TypeParam> old = x.c;
      kernel.run(x.product(), scratch());
      const std::vector<TypeParam> whole = x.c;
      for (const auto& [rows, columns] : {std::pair(1, 203), {7, 64}, {64, 33}, {97, 1}}) {
        x.c = old;
        for (std::size_t i = 0; i < x.m; i += rows) {
          for (std::size_t j = 0; j < x.n; j += columns) {
            auto part = x.product();
            part.m = std::min<std::size_t>(rows, x.m - i);
            part.n = std::min<std::size_t>(columns, x.n - j);
            part.a.data += x.a_transposed ? i : i * x.a_stride();
            part.b.data += x.b_transposed ? j * x.b_stride() : j;
            part.c += i * x.c_stride() + j;
            kernel.run(part, scratch());
          }
        }
        ASSERT_EQ(x.c, whole) << kernel.name << " " << x.text() << " by " << rows << " x "
                              << columns;
      }
    }
  }
}

#if defined(__x86_64__)
TYPED_TEST(PackedGemm, BaselineHasTheSameBitsWithAvx) {
  if (!__builtin_cpu_supports("avx")) return;  // there is but one kernel
  for (const int transposes : {0, 1, 2, 3}) {
    for (const std::size_t n : {3, 64, 203}) {
      Case<TypeParam> x{51,
                        n,
                        800,
                        bool(transposes & 1),
                        bool(transposes & 2),
                        1,
                        TypeParam(1.25),
                        TypeParam(0.3)};
      x.fill();
      Case<TypeParam> y = x;
      detail::packed_gemm<detail::Baseline>(x.product(), scratch());
      detail::packed_gemm<detail::Avx>(y.product(), scratch());
      ASSERT_EQ(x.c, y.c) << x.text();
    }
  }
}
#endif

TYPED_TEST(PackedGemm, SameBitsForAnyNumberOfThreads) {
  const int before = threads();
  for (const bool transposed : {false, true}) {
    Case<TypeParam> x{300, 500, 450, transposed, !transposed};
    x.fill();
    const auto p = x.product();
    std::vector<TypeParam> first;
    for (const int count : {1, 2, 3, 8}) {
      set_threads(count);
      x.c.assign(x.c.size(), 0);
      parallel_gemm(p.m, p.n, p.k, p.alpha, {p.a.data, p.a.stride, p.a.transpose},
                    {p.b.data, p.b.stride, p.b.transpose}, p.beta, p.c, p.ldc);
      if (count == 1) first = x.c;
      EXPECT_EQ(x.c, first) << count << " threads";
    }
  }
  set_threads(before);
}

}  // namespace
}  // namespace xgrad

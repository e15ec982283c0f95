// Products of bfloat16 matrices by every class of processors that this machine has, and by that of
// AMX, emulated if necessary, on every machine with AVX-512.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <xgrad/autograd/kernels/bfloat16.hpp>
#include <xgrad/autograd/kernels/cpu.hpp>
#include <xgrad/autograd/kernels/gemm.hpp>
#include <xgrad/autograd/kernels/packed_gemm/packed_gemm.hpp>
#include <xgrad/autograd/memory/memory.hpp>
#include <xgrad/autograd/parallel.hpp>

#include "autograd/kernels/emulated_amx.hpp"
#include "autograd/kernels/packed_before.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {
namespace {

// The kernel of a class for operands of bfloat16, also with B packed before, and the float kernel
// that it emulates them with, if it does.
struct Kernel {
  std::string name;
  PackedGemm<float, Bf16> run, run_packed;
  PackedGemm<float> of_float;
};

template <PackedGemm<float, Bf16> run>
Kernel kernel(const std::string& name, PackedGemm<float> of_float) {
  return {name, run, packed_before<float, Bf16, run>, of_float};
}

std::vector<Kernel> kernels() {
  std::vector<Kernel> all = {kernel<detail::packed_gemm<detail::Baseline, float, Bf16>>(
      "baseline", detail::packed_gemm<detail::Baseline, float>)};
#if defined(__x86_64__)
  if (cpu() >= Cpu::avx2) {
    all.push_back(kernel<detail::packed_gemm<detail::Avx2, float, Bf16>>(
        "avx2", detail::packed_gemm<detail::Avx2, float>));
  }
  if (cpu() >= Cpu::avx512) {
    all.push_back(kernel<detail::packed_gemm<detail::Avx512, float, Bf16>>(
        "avx512", detail::packed_gemm<detail::Avx512, float>));
  }
  if (cpu() >= Cpu::avx512_bf16) {
    all.push_back(kernel<detail::packed_gemm<detail::Avx512Bf16, float, Bf16>>(
        "avx512_bf16", detail::packed_gemm<detail::Avx512, float>));
  }
#endif
#if defined(__x86_64__)
  if (cpu() >= Cpu::avx512) {
    provide_amx();
    all.push_back(kernel<detail::packed_gemm<detail::Amx, float, Bf16>>("amx", nullptr));
  }
#endif
  return all;
}

void* scratch() {
  static const std::vector<char, allocators::Allocator<char>> space(detail::kPackedGemmScratch);
  return const_cast<char*>(space.data());
}

// Full of NaN, which must not reach the sums.
void* scratch_of_nan() {
  return std::memset(scratch(), 0xFF, detail::kPackedGemmScratch);
}

std::vector<float> widened(const std::vector<Bf16>& x) {
  return {x.begin(), x.end()};
}

std::vector<Bf16> random_values(std::size_t n, const Rng& rng) {
  std::vector<Bf16> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = Bf16(float(2 * rng.uniform(i) - 1));
  return values;
}

// Matrices exactly as large as a product may touch, so that the sanitizers see one step beyond.
struct Case {
  std::size_t m, n, k;
  bool at = false, bt = false;
  std::size_t gap = 0;  // elements between rows that do not belong to the matrix
  float alpha = 1, beta = 0;
  std::vector<Bf16> a = {}, b = {};
  std::vector<float> c = {};

  std::size_t lda() const { return (at ? m : k) + gap; }
  std::size_t ldb() const { return (bt ? k : n) + gap; }
  std::size_t ldc() const { return n + gap; }
  Bf16 a_at(std::size_t i, std::size_t p) const { return at ? a[p * lda() + i] : a[i * lda() + p]; }
  Bf16 b_at(std::size_t p, std::size_t j) const { return bt ? b[j * ldb() + p] : b[p * ldb() + j]; }

  static std::size_t extent(std::size_t rows, std::size_t columns, std::size_t stride) {
    return rows * columns == 0 ? 0 : (rows - 1) * stride + columns;
  }
  void fill() {
    a = random_values(at ? extent(k, m, lda()) : extent(m, k, lda()), Rng(1));
    b = random_values(bt ? extent(n, k, ldb()) : extent(k, n, ldb()), Rng(2));
    const std::vector<Bf16> old = random_values(extent(m, n, ldc()), Rng(3));
    c = widened(old);
  }
  template <class In>
  detail::Product<float, In> product(const In* left, const In* right, float* out) const {
    const auto flag = [](bool yes) { return yes ? Transpose::yes : Transpose::no; };
    return {m, n, k, alpha, {left, lda(), flag(at)}, {right, ldb(), flag(bt)}, beta, out, ldc()};
  }
  std::string text() const {
    return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) +
           (at ? " T" : " N") + (bt ? "T" : "N") + " gap " + std::to_string(gap);
  }
};

// Every element against the sum in long double, where products of bfloat16 numbers are exact; the
// gaps untouched; the same bits with B packed before. The bound is that of a chain of float
// additions.
void expect_exact_sums(const Kernel& kernel, Case x) {
  x.fill();
  const std::vector<float> old = x.c;
  kernel.run(x.product(x.a.data(), x.b.data(), x.c.data()), scratch_of_nan());
  for (std::size_t at = 0; at < x.c.size(); ++at) {
    const std::size_t i = at / x.ldc(), j = at % x.ldc();
    if (j >= x.n) {
      ASSERT_EQ(x.c[at], old[at]) << kernel.name << " " << x.text() << ": a gap was written";
      continue;
    }
    long double sum = 0, terms = 0;
    for (std::size_t p = 0; p < x.k; ++p) {
      const long double term = static_cast<long double>(float(x.a_at(i, p))) * float(x.b_at(p, j));
      sum += term;
      terms += std::fabs(term);
    }
    const long double before = x.beta == 0 ? 0 : static_cast<long double>(x.beta) * old[at];
    const long double want = x.alpha * sum + before;
    const long double bound = (2 + std::sqrt(double(x.k))) * std::numeric_limits<float>::epsilon() *
                              (std::fabs(x.alpha) * terms + std::fabs(before));
    ASSERT_LE(std::fabs(x.c[at] - want), bound)
        << kernel.name << " " << x.text() << ": (" << i << ", " << j << ")";
  }
  const std::vector<float> unpacked = x.c;
  x.c = old;
  kernel.run_packed(x.product(x.a.data(), x.b.data(), x.c.data()), scratch());
  ASSERT_EQ(x.c, unpacked) << kernel.name << " " << x.text() << ", B packed before";
}

TEST(Bf16Gemm, EverySmallSize) {
  for (const Kernel& kernel : kernels()) {
    for (std::size_t size = 1; size <= 67; ++size) {
      for (const int transposes : {0, 1, 2, 3}) {
        const bool at = transposes & 1, bt = transposes & 2;
        expect_exact_sums(kernel, {size, 19, 23, at, bt, size % 3, 1, 0});
        expect_exact_sums(kernel, {13, size, 17, at, bt, size % 2, 1, 1});
        expect_exact_sums(kernel, {15, 33, size, at, bt, 5, 0.5f, -2});
      }
    }
  }
}

TEST(Bf16Gemm, OddLargeSizes) {
  for (const Kernel& kernel : kernels()) {
    for (const int transposes : {0, 1, 2, 3}) {
      const bool at = transposes & 1, bt = transposes & 2;
      expect_exact_sums(kernel, {131, 401, 389, at, bt, 1, 1, 0});
      expect_exact_sums(kernel, {97, 65, 1171, at, bt, 3, 1.5f, 1});
      expect_exact_sums(kernel, {5, 771, 385, at, bt, 7, 1, 0.25f});
      expect_exact_sums(kernel, {1, 1, 2049, at, bt, 2, 1, 0});
      expect_exact_sums(kernel, {7, 21, 0, at, bt, 1, 1, 0.5f});
    }
  }
}

// Without an instruction for bfloat16, a product has the bits of the float product of the same
// numbers.
TEST(Bf16Gemm, EmulationHasTheBitsOfFloat) {
  for (const Kernel& kernel : kernels()) {
    if (kernel.of_float == nullptr) continue;
    for (const int transposes : {0, 1, 2, 3}) {
      Case x{150, 203, 800, bool(transposes & 1), bool(transposes & 2), 3, 1.25f, 0.5f};
      x.fill();
      std::vector<float> same = x.c;
      const std::vector<float> a = widened(x.a), b = widened(x.b);
      kernel.run(x.product(x.a.data(), x.b.data(), x.c.data()), scratch());
      kernel.of_float(x.product(a.data(), b.data(), same.data()), scratch());
      ASSERT_EQ(x.c, same) << kernel.name << " " << x.text();
    }
  }
}

TEST(Bf16Gemm, SameBitsForEveryCut) {
  for (const Kernel& kernel : kernels()) {
    for (const int transposes : {0, 1, 2, 3}) {
      // Smaller where each run of instructions may cost a signal.
      const bool emulated = kernel.name == "amx";
      const std::size_t m = emulated ? 100 : 150, n = emulated ? 67 : 203;
      Case x{m, n, 800, bool(transposes & 1), bool(transposes & 2), 0, 1.25f, 1};
      x.fill();
      const std::vector<float> old = x.c;
      kernel.run(x.product(x.a.data(), x.b.data(), x.c.data()), scratch());
      const std::vector<float> whole = x.c;
      for (const auto& [rows, columns] : {std::pair(1, int(n)), {7, 64}, {64, 33}, {97, 1}}) {
        x.c = old;
        for (std::size_t i = 0; i < x.m; i += rows) {
          for (std::size_t j = 0; j < x.n; j += columns) {
            auto part = x.product(x.a.data(), x.b.data(), x.c.data());
            part.m = std::min<std::size_t>(rows, x.m - i);
            part.n = std::min<std::size_t>(columns, x.n - j);
            part.a.data += x.at ? i : i * x.lda();
            part.b.data += x.bt ? j * x.ldb() : j;
            part.c += i * x.ldc() + j;
            kernel.run(part, scratch());
          }
        }
        ASSERT_EQ(x.c, whole) << kernel.name << " " << x.text();
      }
    }
  }
}

// A copy of numbers that ends where memory ends: a page without access follows.
template <class T>
class AtTheEnd {
 public:
  explicit AtTheEnd(const std::vector<T>& values) {
    const std::size_t page = std::size_t(sysconf(_SC_PAGESIZE)), bytes = values.size() * sizeof(T);
    const std::size_t used = (bytes + page - 1) / page * page;
    size_ = used + page;
    pages_ = static_cast<char*>(
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(mprotect(pages_ + used, page, PROT_NONE), 0);
    data_ = reinterpret_cast<T*>(pages_ + used - bytes);
    std::copy(values.begin(), values.end(), data_);
  }
  AtTheEnd(const AtTheEnd&) = delete;
  AtTheEnd& operator=(const AtTheEnd&) = delete;
  ~AtTheEnd() { munmap(pages_, size_); }

  T* data() const { return data_; }

 private:
  std::size_t size_;
  char* pages_;
  T* data_;
};

// With beta = 0, C holds NaN, which must not be read.
TEST(Bf16Gemm, TouchesNothingBeyondItsMatrices) {
  for (const Kernel& kernel : kernels()) {
    for (const auto& [m, n, k] : {std::array<std::size_t, 3>{1, 1, 1},
                                  {16, 16, 32},
                                  {17, 33, 31},
                                  {33, 15, 64},
                                  {50, 65, 96},
                                  {100, 47, 131},
                                  {3, 48, 1000}}) {
      for (const int transposes : {0, 1, 2, 3}) {
        Case x{m, n, k, bool(transposes & 1), bool(transposes & 2)};
        x.fill();
        std::vector<float> sums = x.c;
        kernel.run(x.product(x.a.data(), x.b.data(), sums.data()), scratch());
        x.c.assign(x.c.size(), std::numeric_limits<float>::quiet_NaN());
        const AtTheEnd<Bf16> a(x.a), b(x.b);
        const AtTheEnd<float> c(x.c);
        kernel.run(x.product(a.data(), b.data(), c.data()), scratch());
        ASSERT_EQ(std::vector<float>(c.data(), c.data() + x.c.size()), sums)
            << kernel.name << " " << x.text();
      }
    }
  }
}

// A thread starts without configured tiles, and the system saves those that a product leaves behind
// whenever the thread waits.
TEST(Bf16Gemm, TilesBelongToAThreadAndAreReleased) {
  for (const Kernel& kernel : kernels()) {
    Case x{70, 40, 100};
    x.fill();
    kernel.run(x.product(x.a.data(), x.b.data(), x.c.data()), scratch());
    EXPECT_FALSE(holds_emulated_tiles());
    std::vector<float> same(x.c.size());
    std::thread([&] {
      kernel.run(x.product(x.a.data(), x.b.data(), same.data()), scratch());
    }).join();
    EXPECT_EQ(same, x.c) << kernel.name;
  }
}

// NaN and infinities reach their row or column and no other; infinity times 0 is NaN.
TEST(Bf16Gemm, SpecialNumbers) {
  for (const Kernel& kernel : kernels()) {
    for (const bool transposed : {false, true}) {
      Case x{21, 37, 51, transposed, transposed};
      x.fill();
      const auto place = [&](std::size_t i, std::size_t p) -> Bf16& {
        return transposed ? x.a[p * x.lda() + i] : x.a[i * x.lda() + p];
      };
      for (std::size_t p = 0; p < x.k; ++p) place(2, p) = Bf16(-0.0f);
      place(8, 4) = Bf16(std::numeric_limits<float>::quiet_NaN());
      place(9, 50) = Bf16(std::numeric_limits<float>::infinity());
      for (std::size_t j = 0; j < x.n; ++j) {
        (transposed ? x.b[j * x.ldb() + 50] : x.b[50 * x.ldb() + j]) = Bf16(j == 3 ? 0.0f : 1.0f);
      }
      kernel.run(x.product(x.a.data(), x.b.data(), x.c.data()), scratch());
      for (std::size_t i = 0; i < x.m; ++i) {
        for (std::size_t j = 0; j < x.n; ++j) {
          const float c = x.c[i * x.ldc() + j];
          ASSERT_EQ(std::isnan(c), i == 8 || (i == 9 && j == 3)) << kernel.name << i << " " << j;
          ASSERT_EQ(std::isinf(c), i == 9 && j != 3) << kernel.name << i << " " << j;
          ASSERT_TRUE(i != 2 || c == 0) << kernel.name << " " << j;
        }
      }
    }
  }
}

// A product of two large numbers overflows to infinity as float does.
TEST(Bf16Gemm, OverflowsToInfinity) {
  for (const Kernel& kernel : kernels()) {
    Case x{3, 5, 2};
    x.fill();
    x.a.assign(x.a.size(), Bf16(1e30f));
    x.b.assign(x.b.size(), Bf16(1e30f));
    kernel.run(x.product(x.a.data(), x.b.data(), x.c.data()), scratch());
    for (const float c : x.c) EXPECT_EQ(c, std::numeric_limits<float>::infinity()) << kernel.name;
  }
}

TEST(Bf16Gemm, SameBitsForAnyNumberOfThreads) {
  const int before = threads();
  for (const bool transposed : {false, true}) {
    Case x{300, 500, 450, transposed, !transposed};
    x.fill();
    const auto p = x.product(x.a.data(), x.b.data(), x.c.data());
    std::vector<float> first;
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
}  // namespace xgrad::test

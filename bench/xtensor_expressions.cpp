// Compares xtensor expressions with plain loops over contiguous memory, on a tensor of (2048, 384),
// on one thread. Prints a table in Markdown for docs/ops.md. If the ratio of a row is near 1, an op
// may be written as the expression.
//
//     ninja -C build/release xtensor_expressions && build/release/bench/xtensor_expressions
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include <xgrad/autograd/random.hpp>
#include <xgrad/autograd/tensor.hpp>

#if __has_include(<xtensor/xmath.hpp>)
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xnoalias.hpp>
#include <xtensor/xview.hpp>
#else
#include <xtensor/core/xmath.hpp>
#include <xtensor/core/xnoalias.hpp>
#include <xtensor/misc/xmanipulation.hpp>
#include <xtensor/views/xview.hpp>
#endif

using namespace xgrad;

namespace {

constexpr std::size_t kRows = 2048, kWidth = 384, kSize = kRows * kWidth, kRounds = 31;

using Work = std::function<void(Tensor<float>&)>;

struct Case {
  const char* name;
  Shape result;
  Work expression, loop;
};

Tensor<float> uniform(const Shape& shape, std::uint64_t seed) {
  Tensor<float> x = empty<float>(shape);
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = float(Rng(seed).uniform(i) - 0.5);
  return x;
}

double seconds(const Work& work, Tensor<float>& result) {
  const auto start = std::chrono::steady_clock::now();
  work(result);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

float sum(const float* x, std::size_t n) {
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (std::size_t i = 0; i < n; ++i) total += x[i];
  return total;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

// Times both in turn. Ends the program if their results differ by more than rounding.
void report(const Case& test) {
  Tensor<float> one = zeros<float>(test.result), two = one;
  std::vector<double> expression, loop;
  for (std::size_t round = 0; round < kRounds; ++round) {
    expression.push_back(seconds(test.expression, one));
    loop.push_back(seconds(test.loop, two));
  }
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (!(std::abs(one.data()[i] - two.data()[i]) <= 1e-3f)) {
      std::fprintf(stderr, "%s: %g is not %g\n", test.name, one.data()[i], two.data()[i]);
      std::exit(1);
    }
  }
  std::printf("| `%s` | %.0f µs | %.2f |\n", test.name, 1e6 * median(loop),
              median(expression) / median(loop));
}

// Operands of one shape.
std::vector<Case> elementwise(const Tensor<float>& x, const Tensor<float>& y) {
  const float *a = x.data(), *b = y.data();
  const auto each = [](const auto& f) {
    return [f](Tensor<float>& z) {
      float* out = z.data();
      for (std::size_t i = 0; i < kSize; ++i) out[i] = f(i);
    };
  };
  return {
      {"x + y", {kRows, kWidth}, [&](auto& z) { xt::noalias(z) = x + y; }, each([=](std::size_t i) {
         return a[i] + b[i];
       })},
      {"2 * x * y - x",
       {kRows, kWidth},
       [&](auto& z) { xt::noalias(z) = 2.0f * x * y - x; },
       each([=](std::size_t i) { return 2 * a[i] * b[i] - a[i]; })},
      {"z += x",
       {kRows, kWidth},
       [&](auto& z) { z += x; },
       [=](auto& z) {
         float* out = z.data();
         for (std::size_t i = 0; i < kSize; ++i) out[i] += a[i];
       }},
      {"exp(x)",
       {kRows, kWidth},
       [&](auto& z) { xt::noalias(z) = xt::exp(x); },
       each([=](std::size_t i) { return std::exp(a[i]); })},
      {"where(x > 0, x, y)",
       {kRows, kWidth},
       [&](auto& z) { xt::noalias(z) = xt::where(x > 0, x, y); },
       each([=](std::size_t i) {
         const float u = a[i], v = b[i];  // read both, so that the compiler can vectorise it
         return u > 0 ? u : v;
       })},
  };
}

// Operands of several shapes, reductions and views.
std::vector<Case> along_axes(const Tensor<float>& x, const Tensor<float>& row) {
  const float *a = x.data(), *w = row.data();
  return {
      {"x + row (broadcast)",
       {kRows, kWidth},
       [&](auto& z) { xt::noalias(z) = x + row; },
       [=](auto& z) {
         for (std::size_t r = 0; r < kRows; ++r) {
           for (std::size_t i = 0; i < kWidth; ++i) {
             z.data()[r * kWidth + i] = a[r * kWidth + i] + w[i];
           }
         }
       }},
      {"sum(x, {1})",
       {kRows},
       [&](auto& z) { xt::noalias(z) = xt::sum(x, {1}); },
       [=](auto& z) {
         for (std::size_t r = 0; r < kRows; ++r) z.data()[r] = sum(a + r * kWidth, kWidth);
       }},
      {"sum(x, {0})",
       {kWidth},
       [&](auto& z) { xt::noalias(z) = xt::sum(x, {0}); },
       [=](auto& z) {
         std::fill_n(z.data(), kWidth, 0.0f);
         for (std::size_t r = 0; r < kRows; ++r) {
           for (std::size_t i = 0; i < kWidth; ++i) z.data()[i] += a[r * kWidth + i];
         }
       }},
      {"view(x, all(), range(64, 128))",
       {kRows, 64},
       [&](auto& z) { xt::noalias(z) = xt::view(x, xt::all(), xt::range(64, 128)); },
       [=](auto& z) {
         for (std::size_t r = 0; r < kRows; ++r) {
           std::copy_n(a + r * kWidth + 64, 64, z.data() + r * 64);
         }
       }},
      {"transpose(x)",
       {kWidth, kRows},
       [&](auto& z) { xt::noalias(z) = xt::transpose(x); },
       [=](auto& z) {
         for (std::size_t i = 0; i < kWidth; ++i) {
           for (std::size_t r = 0; r < kRows; ++r) z.data()[i * kRows + r] = a[r * kWidth + i];
         }
       }},
  };
}

}  // namespace

int main() {
  const Tensor<float> x = uniform({kRows, kWidth}, 1), y = uniform({kRows, kWidth}, 2);
  const Tensor<float> row = uniform({kWidth}, 3);
  std::printf("| xtensor %d.%d.%d | plain loop | expression ÷ loop |\n| --- | --- | --- |\n",
              XTENSOR_VERSION_MAJOR, XTENSOR_VERSION_MINOR, XTENSOR_VERSION_PATCH);
  for (const Case& test : elementwise(x, y)) report(test);
  for (const Case& test : along_axes(x, row)) report(test);
}

#include "streams/draws.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <mutex>

#include <xgrad/autograd/random.hpp>

namespace xgrad {

namespace test {

std::map<std::string, std::set<std::uint64_t>> drawn;
std::map<MaskRow, std::vector<double>> masks;

void clear_draws() {
  drawn.clear();
  masks.clear();
}

}  // namespace test

namespace {

using test::MaskRow;

std::mutex mutex;

void note(const char* what, const Rng& rng) {
  const std::lock_guard lock(mutex);
  test::drawn[what].insert(rng.key());
}

template <class T>
void note_factors(MaskRow at, std::size_t rows, std::size_t n, const T* factors, std::size_t stride,
                  std::size_t first) {
  const std::lock_guard lock(mutex);
  test::drawn["dropout"].insert(at.key);
  for (; rows > 0; --rows, ++at.token, factors += stride) {
    std::vector<double>& row = test::masks[at];
    if (row.size() < first + n) row.resize(first + n, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < n; ++i) {
      double& factor = row[first + i];
      EXPECT_TRUE(std::isnan(factor) || factor == double(factors[i])) << "another mask than before";
      factor = double(factors[i]);
    }
  }
}

}  // namespace

// real_f is the generator's function, wrap_f is what is called in its place.

double real_uniform(const Rng*, std::uint64_t) asm("__real__ZNK5xgrad3Rng7uniformEm");
double wrap_uniform(const Rng*, std::uint64_t) asm("__wrap__ZNK5xgrad3Rng7uniformEm");
double wrap_uniform(const Rng* rng, std::uint64_t i) {
  note("uniform", *rng);
  return real_uniform(rng, i);
}

std::uint64_t real_below(const Rng*, std::uint64_t,
                         std::uint64_t) asm("__real__ZNK5xgrad3Rng5belowEmm");
std::uint64_t wrap_below(const Rng*, std::uint64_t,
                         std::uint64_t) asm("__wrap__ZNK5xgrad3Rng5belowEmm");
std::uint64_t wrap_below(const Rng* rng, std::uint64_t bound, std::uint64_t i) {
  note("below", *rng);
  return real_below(rng, bound, i);
}

double real_normal(const Rng*, std::uint64_t) asm("__real__ZNK5xgrad3Rng6normalEm");
double wrap_normal(const Rng*, std::uint64_t) asm("__wrap__ZNK5xgrad3Rng6normalEm");
double wrap_normal(const Rng* rng, std::uint64_t i) {
  note("normal", *rng);
  return real_normal(rng, i);
}

using Doubles = std::vector<double>;
Doubles real_uniforms(const Rng*, std::size_t,
                      std::uint64_t) asm("__real__ZNK5xgrad3Rng8uniformsEmm");
Doubles wrap_uniforms(const Rng*, std::size_t,
                      std::uint64_t) asm("__wrap__ZNK5xgrad3Rng8uniformsEmm");
Doubles wrap_uniforms(const Rng* rng, std::size_t n, std::uint64_t first) {
  note("uniforms", *rng);
  return real_uniforms(rng, n, first);
}

Doubles real_normals(const Rng*, std::size_t) asm("__real__ZNK5xgrad3Rng7normalsEm");
Doubles wrap_normals(const Rng*, std::size_t) asm("__wrap__ZNK5xgrad3Rng7normalsEm");
Doubles wrap_normals(const Rng* rng, std::size_t n) {
  note("normals", *rng);
  return real_normals(rng, n);
}

using Order = std::vector<std::size_t>;
Order real_permutation(const Rng*, std::size_t) asm("__real__ZNK5xgrad3Rng11permutationEm");
Order wrap_permutation(const Rng*, std::size_t) asm("__wrap__ZNK5xgrad3Rng11permutationEm");
Order wrap_permutation(const Rng* rng, std::size_t n) {
  note("permutation", *rng);
  return real_permutation(rng, n);
}

using Word = std::uint32_t;
using Words = std::array<Word, 4>;
Words real_words(const Rng*, Word, Word, Word, Word) asm("__real__ZNK5xgrad3Rng5wordsEjjjj");
Words wrap_words(const Rng*, Word, Word, Word, Word) asm("__wrap__ZNK5xgrad3Rng5wordsEjjjj");
Words wrap_words(const Rng* rng, Word c0, Word c1, Word c2, Word c3) {
  note("words", *rng);
  return real_words(rng, c0, c1, c2, c3);
}

Rng real_child(const Rng*, std::uint64_t) asm("__real__ZNK5xgrad3RngdvEm");
Rng wrap_child(const Rng*, std::uint64_t) asm("__wrap__ZNK5xgrad3RngdvEm");
Rng wrap_child(const Rng* rng, std::uint64_t stream) {
  note("child", *rng);
  return real_child(rng, stream);
}

using Name = std::string_view;
Rng real_named(const Rng*,
               Name) asm("__real__ZNK5xgrad3RngdvESt17basic_string_viewIcSt11char_traitsIcEE");
Rng wrap_named(const Rng*,
               Name) asm("__wrap__ZNK5xgrad3RngdvESt17basic_string_viewIcSt11char_traitsIcEE");
Rng wrap_named(const Rng* rng, Name name) {
  note("child", *rng);
  return real_named(rng, name);
}

template <class T>
using Factors = void(const Rng&, double, Word, Word, Word, std::size_t, std::size_t, T*,
                     std::size_t, std::size_t);
Factors<float> real_float asm("__real__ZN5xgrad15dropout_factorsIfEEvRKNS_3RngEdjjjmmPT_mm");
Factors<float> wrap_float asm("__wrap__ZN5xgrad15dropout_factorsIfEEvRKNS_3RngEdjjjmmPT_mm");
void wrap_float(const Rng& rng, double p, Word sample, Word head, Word token, std::size_t rows,
                std::size_t n, float* factors, std::size_t stride, std::size_t first) {
  real_float(rng, p, sample, head, token, rows, n, factors, stride, first);
  note_factors(MaskRow{rng.key(), sample, head, token}, rows, n, factors, stride, first);
}
Factors<double> real_double asm("__real__ZN5xgrad15dropout_factorsIdEEvRKNS_3RngEdjjjmmPT_mm");
Factors<double> wrap_double asm("__wrap__ZN5xgrad15dropout_factorsIdEEvRKNS_3RngEdjjjmmPT_mm");
void wrap_double(const Rng& rng, double p, Word sample, Word head, Word token, std::size_t rows,
                 std::size_t n, double* factors, std::size_t stride, std::size_t first) {
  real_double(rng, p, sample, head, token, rows, n, factors, stride, first);
  note_factors(MaskRow{rng.key(), sample, head, token}, rows, n, factors, stride, first);
}

}  // namespace xgrad

// Which streams of random numbers training draws from. The linker sends every call of the generator
// from outside of autograd/random.cpp through this file (--wrap, in tests/CMakeLists.txt).
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include <xgrad/layers/module.hpp>
#include <xgrad/train/loop/trainer.hpp>

namespace xgrad {
namespace {

std::mutex mutex;
std::map<std::string, std::set<std::uint64_t>> drawn;  // keys, by what was drawn

void note(const char* what, const Rng& rng) {
  const std::lock_guard lock(mutex);
  drawn[what].insert(rng.key());
}

// Of the streams that dropout drew from, those that something else drew from.
std::set<std::uint64_t> shared_streams() {
  std::set<std::uint64_t> shared;
  for (const auto& [what, keys] : drawn) {
    if (what == "dropout") continue;
    for (const std::uint64_t key : drawn["dropout"]) {
      if (keys.contains(key)) shared.insert(key);
    }
  }
  return shared;
}

Config config_of(const std::vector<std::string>& overrides) {
  return parse_config(
      "[task]\nname = 'reverse'\nlength = 4\n"
      "[model]\nwidth = 8\nheads = 2\nlayers = 2\ndropout = 0.1\nattention_dropout = 0.1\n"
      "[train]\nsteps = 4\nbatch = 8\nevaluate_every = 2\n",
      "streams.toml", overrides);
}

const std::vector<std::vector<std::string>> kRuns = {
    {},
    {"train.recompute=true", "train.accumulate=2"},
    {"train.bucket=2", "train.head_diversity=0.1", "model.norm=sandwich"},
    {"model.activation=relu", "model.score=cosine"},
    {"model.score=additive", "model.attention_activation=sparsemax"},
    {"model.kind=mlp"},
    {"model.kind=window_mlp", "model.window=3"},
    {"train.precision=double"},
};

}  // namespace

TEST(Streams, OfDropoutAreDrawnFromByNothingElse) {
  for (const auto& overrides : kRuns) {
    SCOPED_TRACE(testing::PrintToString(overrides));
    drawn.clear();
    const Config config = config_of(overrides);
    TrainerHooks hooks;
    if (config.train.precision == "double") {
      Trainer<double>(config).run(hooks);
    } else {
      Trainer<float>(config).run(hooks);
    }
    EXPECT_GE(drawn["dropout"].size(), 4u);  // one a step at least
    EXPECT_GT(drawn["permutation"].size(), 0u);
    EXPECT_GT(drawn["uniform"].size(), 0u);  // of initial values
    EXPECT_GT(drawn["normal"].size(), 0u);
    EXPECT_GT(drawn["child"].size(), 0u);
    EXPECT_EQ(shared_streams(), std::set<std::uint64_t>{});
  }
}

// One that draws from the stream of a mask is found.
TEST(Streams, AreToldApart) {
  const DropoutOptions dropout = Context::train(1, 0).dropout(0.5, 7);
  const std::vector<std::function<void(const Rng&)>> draws = {
      [](const Rng& rng) { rng.uniform(0); }, [](const Rng& rng) { rng.below(5, 0); },
      [](const Rng& rng) { rng.normal(0); },  [](const Rng& rng) { rng.uniforms(3); },
      [](const Rng& rng) { rng.normals(3); }, [](const Rng& rng) { rng.permutation(3); },
      [](const Rng& rng) { rng.words(0); },   [](const Rng& rng) { rng / 1; },
      [](const Rng& rng) { rng / "name"; },
  };
  for (const auto& draw : draws) {
    drawn.clear();
    xgrad::dropout(Variable<float>(full<float>({2, 3}, 1)), dropout);
    EXPECT_TRUE(shared_streams().empty());
    draw(*dropout.rng);
    EXPECT_EQ(shared_streams(), std::set<std::uint64_t>{dropout.rng->key()});
  }
}

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
  note("dropout", rng);
  real_float(rng, p, sample, head, token, rows, n, factors, stride, first);
}
Factors<double> real_double asm("__real__ZN5xgrad15dropout_factorsIdEEvRKNS_3RngEdjjjmmPT_mm");
Factors<double> wrap_double asm("__wrap__ZN5xgrad15dropout_factorsIdEEvRKNS_3RngEdjjjmmPT_mm");
void wrap_double(const Rng& rng, double p, Word sample, Word head, Word token, std::size_t rows,
                 std::size_t n, double* factors, std::size_t stride, std::size_t first) {
  note("dropout", rng);
  real_double(rng, p, sample, head, token, rows, n, factors, stride, first);
}

}  // namespace xgrad

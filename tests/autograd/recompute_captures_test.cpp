// What the function of a recompute() captures: the gradients are those without recompute(), or
// there is a GradientError.
#include <gtest/gtest.h>

#include <cmath>

#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/recompute.hpp>

#include "support/gradients.hpp"

namespace xgrad::test {

namespace {

using V = Variable<double>;
using Function = std::function<V(const V&)>;
// recompute(), or the function alone.
using Run = std::function<V(const Function&, const V&)>;

struct Pattern {
  std::string name;
  /// Of the leaves x, w and u, of one shape.
  std::function<V(const Run&, const V& x, const V& w, const V& u)> y;
};

// The pattern's name in a failure.
void PrintTo(const Pattern& pattern, std::ostream* out) {
  *out << pattern.name;
}

// A layer that holds a leaf and a result of an op.
struct Module {
  explicit Module(const V& w, const V& u) : weight(w), scaled(scale(u, 3)) {}
  V operator()(const V& v) const { return tanh(add(mul(v, weight), scaled)); }
  V weight, scaled;
};

V twice(const Run& run, const Function& f, const V& x) {
  return run([run, f](const V& v) { return run(f, tanh(v)); }, x);
}

const std::vector<Pattern> kPatterns = {
    {"leaf", [](const Run& run, const V& x, const V& w,
                const V&) { return run([w](const V& v) { return mul(v, w); }, x); }},
    {"its_own_input", [](const Run& run, const V& x, const V&,
                         const V&) { return run([x](const V& v) { return mul(v, x); }, x); }},
    {"result_that_is_its_input",
     [](const Run& run, const V& x, const V& w, const V&) {
       const V h = mul(x, w);
       return run([h](const V& v) { return mul(v, h); }, h);
     }},
    {"result_that_is_not_its_input",
     [](const Run& run, const V& x, const V& w, const V&) {
       const V h = tanh(w);
       return run([h](const V& v) { return mul(v, h); }, x);
     }},
    {"result_that_its_input_comes_from",
     [](const Run& run, const V& x, const V& w, const V&) {
       const V h = mul(x, w);
       return run([h](const V& v) { return mul(v, h); }, tanh(h));
     }},
    {"result_that_comes_from_its_input",
     [](const Run& run, const V& x, const V& w, const V&) {
       const V h = mul(x, w);
       return run([h](const V& v) { return mul(v, h); }, x);
     }},
    {"result_used_before_and_after",
     [](const Run& run, const V& x, const V& w, const V& u) {
       const V h = mul(x, w);
       const V before = mul(h, u);
       const V y = run([h](const V& v) { return mul(v, h); }, before);
       return add(mul(y, h), tanh(h));
     }},
    {"result_of_two_recomputes",
     [](const Run& run, const V& x, const V& w, const V& u) {
       const V h = tanh(w);
       const Function f = [h](const V& v) { return mul(v, h); };
       return add(run(f, x), run(f, run(f, u)));
     }},
    {"result_of_another_recompute",
     [](const Run& run, const V& x, const V& w, const V& u) {
       const V h = run([w](const V& v) { return mul(v, w); }, x);
       return run([h](const V& v) { return mul(v, h); }, tanh(u));
     }},
    {"two_results_one_of_the_other",
     [](const Run& run, const V& x, const V& w, const V&) {
       const V h = tanh(w), g = mul(h, h);
       return run([h, g](const V& v) { return mul(mul(v, g), h); }, x);
     }},
    {"result_inside_a_nested_recompute",
     [](const Run& run, const V& x, const V& w, const V& u) {
       const V h = mul(w, u);
       return twice(
           run, [h](const V& v) { return mul(v, h); }, x);
     }},
    {"leaf_inside_a_nested_recompute",
     [](const Run& run, const V& x, const V& w, const V&) {
       return twice(
           run, [w](const V& v) { return mul(v, w); }, x);
     }},
    {"argument_of_the_outer_function",
     [](const Run& run, const V& x, const V& w, const V&) {
       return run(
           [run, w](const V& v) {
             return run([v, w](const V& a) { return mul(mul(a, v), w); }, tanh(v));
           },
           x);
     }},
    {"result_of_the_outer_function",
     [](const Run& run, const V& x, const V& w, const V& u) {
       const V h = tanh(u);
       return run(
           [run, w, h](const V& v) {
             const V inside = mul(v, mul(w, h));
             return add(inside, run([inside, h](const V& a) { return mul(mul(a, inside), h); }, v));
           },
           x);
     }},
    {"module",
     [](const Run& run, const V& x, const V& w, const V& u) {
       const Module module(w, u);
       return run(module, run(module, x));
     }},
    {"returned_as_it_is",
     [](const Run& run, const V& x, const V& w, const V&) {
       const V h = tanh(w);
       return add(run([h](const V&) { return h; }, x), x);
     }},
    {"leaf_returned_as_it_is",
     [](const Run& run, const V& x, const V& w, const V&) {
       return mul(run([w](const V&) { return w; }, x), x);
     }},
    {"nothing", [](const Run& run, const V& x, const V&,
                   const V&) { return run([](const V& v) { return v; }, x); }},
    {"detached",
     [](const Run& run, const V& x, const V& w, const V&) {
       const V h = mul(x, w);
       return run([h](const V& v) { return mul(v, h.detach()); }, h);
     }},
    {"without_its_argument",
     [](const Run& run, const V& x, const V& w, const V&) {
       const V h = tanh(w);
       return add(run([h](const V&) { return mul(h, h); }, x), x);
     }},
};

struct Leaves {
  V x{tensor({2}, {0.5, -1.25}), true};
  V w{tensor({2}, {2, 0.75}), true};
  V u{tensor({2}, {-0.5, 1.5}), true};
};

std::vector<Tensor<double>> gradients(const Pattern& pattern, const Run& run) {
  const Leaves l;
  const V y = pattern.y(run, l.x, l.w, l.u);
  // Twice, so that a graph that the first walk released or left gradients in shows.
  y.backward(tensor({2}, {1, 3}), /*retain_graph=*/true);
  y.backward(tensor({2}, {1, 3}));
  std::vector<Tensor<double>> result{y.value()};
  for (const V& leaf : {l.x, l.w, l.u}) {
    result.push_back(leaf.has_grad() ? leaf.grad() : zeros<double>({2}));
  }
  return result;
}

const Run kAgain = [](const Function& f, const V& x) { return recompute<double>(f, x); };

class Captured : public testing::TestWithParam<Pattern> {};

TEST_P(Captured, HasTheGradientsWithoutRecompute) {
  const auto expected = gradients(GetParam(), [](const Function& f, const V& x) { return f(x); });
  const auto actual = gradients(GetParam(), kAgain);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(tensors_near(actual[i], expected[i], 1e-14)) << "y, dx, dw, du: " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Recompute, Captured, testing::ValuesIn(kPatterns),
                         [](const auto& test) { return test.param.name; });

// x passes; backward throws.
struct Throws final : Op<double> {
  const char* name() const override { return "throws"; }
  Value<double> forward(const Inputs<double>& x) override {
    return std::make_shared<Versioned<double>>(x[0]);
  }
};

}  // namespace

// d(xw)^2/dw = 2 w x^2 = 4 at x = 1, w = 2.
TEST(RecomputeCaptures, GiveTheWholeGradientOfASquare) {
  const V x(full<double>({}, 1), true), w(full<double>({}, 2), true);
  const V h = mul(x, w);
  recompute<double>([h](const V& v) { return mul(v, h); }, h).backward();
  EXPECT_EQ(w.grad()(), 4);
  EXPECT_EQ(x.grad()(), 8);
}

TEST(RecomputeCaptures, AreChecked) {
  const Leaves l;
  const Function product = [&l](const V& v) { return mul(v, l.w); };
  const V changed = recompute(product, l.x);
  l.w.mutable_value().fill(7);
  EXPECT_TRUE(throws_with<GradientError>([&] { changed.backward(zeros<double>({2})); },
                                         "a value that 'recompute' needs was changed"));

  V h = tanh(l.w);
  const V other = recompute<double>([&h](const V& v) { return mul(v, h); }, l.x);
  const V h0 = std::exchange(h, scale(h, 1));
  EXPECT_TRUE(throws_with<GradientError>([&] { other.backward(zeros<double>({2})); },
                                         "used a Variable from outside ('scale') that it did not"));
  h = V(h0.value(), true);
  EXPECT_TRUE(throws_with<GradientError>([&] { other.backward(zeros<double>({2})); },
                                         "used a Variable from outside ('leaf') that it did not"));
  h = h0;
  h0.backward(zeros<double>({2}));
  EXPECT_TRUE(throws_with<GradientError>([&] { other.backward(zeros<double>({2})); },
                                         "the graph of 'tanh' was released"));
}

TEST(RecomputeCaptures, LetNothingOut) {
  const Leaves l;
  V inside;
  const V y = recompute<double>([&inside](const V& v) { return inside = tanh(v); }, l.x);
  EXPECT_TRUE(throws_with<GradientError>([&] { add(y, inside).backward(zeros<double>({2})); },
                                         "it is an inner result of a recompute()"));
}

TEST(RecomputeCaptures, NeedAGraphInBackward) {
  const Leaves l;
  const V y = recompute<double>([&l](const V& v) { return mul(v, l.w); }, l.x);
  const NoGrad no_grad;
  EXPECT_TRUE(throws_with<GradientError>([&] { y.backward(zeros<double>({2})); }, "NoGrad"));
}

TEST(RecomputeCaptures, KeepTheShape) {
  const Leaves l;
  std::size_t size = 2;
  const V y = recompute<double>([&](const V& v) { return slice(v, 0, 0, size); }, l.x);
  size = 1;
  EXPECT_TRUE(throws_with<GradientError>([&] { y.backward(zeros<double>({2})); },
                                         "returned shape (2) in its first run, (1) in its second"));
}

TEST(RecomputeCaptures, KeepTheValues) {
  const Leaves l;
  double factor = 2;
  const V y = recompute<double>([&](const V& v) { return scale(v, factor); }, l.x);
  factor = 3;
  const char* const said = "recompute: the function returned other values in its second run";
  EXPECT_TRUE(throws_with<GradientError>([&] { y.backward(tensor({2}, {1, 1})); }, said));
  EXPECT_FALSE(l.x.has_grad());
  factor = 2;
  y.backward(tensor({2}, {1, 1}));
  EXPECT_TRUE(same_bits(l.x.grad(), tensor({2}, {2, 2})));
}

// One bit of one element, wherever it is.
template <class T>
void expect_every_element_compared(std::size_t n) {
  const Variable<T> x(zeros<T>({n}), true);
  Tensor<T> term = random_tensor<T>({n}, Rng(n));
  const Variable<T> y =
      recompute<T>([&](const Variable<T>& v) { return add(v, Variable<T>(term)); }, x);
  for (std::size_t i = 0; i < n; ++i) {
    const T before = term(i);
    term(i) = std::nextafter(before, T(2));
    EXPECT_THROW(y.backward(zeros<T>({n}), true), GradientError) << n << " elements, " << i;
    term(i) = before;
    if (i == 0) continue;
    std::swap(term(i), term(i - 1));
    EXPECT_THROW(y.backward(zeros<T>({n}), true), GradientError) << n << " elements, " << i;
    std::swap(term(i), term(i - 1));
  }
  EXPECT_NO_THROW(y.backward(zeros<T>({n})));
}

TEST(RecomputeCaptures, KeepTheValueOfEveryElement) {
  for (const std::size_t n : {1, 2, 7, 8, 9, 16, 31, 67}) {
    expect_every_element_compared<float>(n);
    expect_every_element_compared<double>(n);
    expect_every_element_compared<long double>(n);
  }
}

TEST(RecomputeCaptures, KeepValuesBeyondTheRangeOfDouble) {
  const Variable<long double> x(zeros<long double>({1}), true);
  Tensor<long double> term = full<long double>({1}, 1e4000L);
  const auto y =
      recompute<long double>([&](const auto& v) { return add(v, Variable<long double>(term)); }, x);
  term(0) = 2e4000L;
  EXPECT_THROW(y.backward(zeros<long double>({1})), GradientError);
}

TEST(RecomputeCaptures, KeepTheGraph) {
  for (const bool cut_at_first : {false, true}) {
    const Leaves l;
    bool cut = cut_at_first;
    const Function f = [&](const V& v) { return cut ? tanh(v).detach() : tanh(v); };
    const V y = recompute(f, l.x);
    cut = !cut;
    EXPECT_TRUE(throws_with<GradientError>(
        [&] { y.backward(zeros<double>({2})); },
        "recompute: the function's result requires a gradient only in its "));
  }
}

// Freed by recursion, either chain would overflow the stack: the functions hold one another.
TEST(RecomputeCaptures, AreFreedInAChainOfAnyLength) {
  const V x(full<double>({}, 3), true), one(full<double>({}, 1), true);
  constexpr int kLength = 200000;
  const auto chain = [&](bool use) {
    V h = x;
    for (int i = 0; i < kLength; ++i) {
      h = recompute<double>([h, use](const V& v) { return use ? mul(v, h) : scale(v, 1); }, one);
    }
    return h;
  };
  chain(false);
  chain(true);
  chain(true).backward();
  EXPECT_EQ(x.grad()(), 1);
  EXPECT_EQ(one.grad()(), 3 * kLength);
}

TEST(RecomputeCaptures, NeedAResult) {
  const Leaves l;
  const auto nothing = [](const V&) { return V(); };
  EXPECT_TRUE(throws_with<ShapeError>([&] { recompute<double>(nothing, l.x); }, "recompute: "));
  int runs = 0;
  const V y = recompute<double>([&](const V& v) { return ++runs == 1 ? scale(v, 2) : V(); }, l.x);
  EXPECT_TRUE(
      throws_with<ShapeError>([&] { y.backward(zeros<double>(y.shape())); }, "recompute: "));
}

// w and h get their parts before the op that throws.
TEST(RecomputeCaptures, HaveNoPartOfAGradientWhenABackwardThrows) {
  const Leaves l;
  const V h = mul(l.x, l.u);
  const V y = recompute<double>(
      [&](const V& v) {
        const V broken = apply<double>(std::make_unique<Throws>(), {v});
        return mul(mul(broken, l.w), h);
      },
      l.x);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW(y.backward(zeros<double>({2}), /*retain_graph=*/true), GradientError);
    EXPECT_FALSE(l.w.has_grad());
    EXPECT_FALSE(l.u.has_grad());
    EXPECT_FALSE(l.x.has_grad());
  }
  h.backward(tensor({2}, {1, 1}));
  EXPECT_TRUE(same_bits(l.u.grad(), l.x.value()));
}

}  // namespace xgrad::test

#include <xgrad/layers/models/models.hpp>

#include <gtest/gtest.h>

#include "layers/models.hpp"
#include "support/gradients.hpp"

namespace xgrad {
namespace {

using test::random_tensor;

const Rng kRng = Rng(8) / "window";

WindowMlpOptions options(std::size_t window, std::size_t layers, Pool pool = Pool::none) {
  WindowMlpOptions o;
  o.input = {.max_length = 6, .features = 4, .positions = PositionKind::learned};
  o.input.vector = 2;
  o.window = window;
  o.layers = layers;
  o.hidden = 5;
  o.pool = pool;
  o.classes = 3;
  return o;
}

// S4.10, written out: without hidden layers the head reads the neighbours side by side.
TEST(WindowMlp, S4_10_ReadsNeighboursSideBySideAndZerosOutside) {
  Parameters<double> parameters(1);
  WindowMlpOptions o = options(3, 0);
  o.input.positions = PositionKind::none;
  const WindowMlp<double> model(parameters.root(), o);
  const Tensor<double> x = random_tensor({2, 4, 2}, kRng);
  const Tensor<double> y = model({nullptr, &x, test::lengths({4, 2}, 4)}, {}).value();
  const Tensor<double>& embed = parameters.at("embedding.vector.weight").value();
  const Tensor<double>& shift = parameters.at("embedding.vector.bias").value();
  const Tensor<double>& head = parameters.at("head.weight").value();
  const Tensor<double>& bias = parameters.at("head.bias").value();
  const int counts[] = {4, 2};
  for (int b = 0; b < 2; ++b) {
    for (int n = 0; n < counts[b]; ++n) {
      for (int c = 0; c < 3; ++c) {
        double sum = bias(c);
        for (int w = 0; w < 3; ++w) {
          const int from = n + w - 1;
          if (from < 0 || from >= counts[b]) continue;
          for (int d = 0; d < 4; ++d) {
            const double e = shift(d) + embed(d, 0) * x(b, from, 0) + embed(d, 1) * x(b, from, 1);
            sum += head(c, 4 * w + d) * e;
          }
        }
        EXPECT_NEAR(y(b, n, c), sum, 1e-14) << b << " " << n << " " << c;
      }
    }
  }
}

// S4.9: what stands elsewhere changes nothing; with a window, only what stands near.
TEST(WindowMlp, S4_9_SeesNothingOutsideOfItsWindow) {
  for (const std::size_t window : {1, 3, 5}) {
    Parameters<double> parameters(1);
    const WindowMlp<double> model(parameters.root(), options(window, 2));
    const Tensor<double> x = random_tensor({1, 6, 2}, kRng);
    Tensor<double> other = x;
    other(0, 3, 1) += 1;
    const Tensor<double> before = model({nullptr, &x}, {}).value();
    const Tensor<double> after = model({nullptr, &other}, {}).value();
    for (int n = 0; n < 6; ++n) {
      const bool sees = std::abs(n - 3) <= int(window / 2);
      EXPECT_EQ(before(0, n, 0) != after(0, n, 0), sees) << window << " " << n;
    }
  }
}

TEST(WindowMlp, S4_1_PaddingChangesNothing) {
  const Tensor<double> x = random_tensor({2, 5, 2}, kRng);
  Tensor<double> alone = empty<double>({1, 3, 2});
  std::copy_n(x.data() + 10, 6, alone.data());
  for (const Pool pool : {Pool::none, Pool::mean, Pool::max, Pool::attention}) {
    Parameters<double> parameters(1);
    const WindowMlp<double> model(parameters.root(), options(3, 2, pool));
    const Tensor<double> both = model({nullptr, &x, test::lengths({5, 3}, 5)}, {}).value();
    const Tensor<double> one = model({nullptr, &alone}, {}).value();
    const double* second = both.data() + both.size() / 2;
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(second[i], one.data()[i], 1e-12);
  }
}

template <class T>
struct Problem {
  Problem(const WindowMlpOptions& options, const Tensor<double>& x, const Ids& targets)
      : model(parameters.root(), options), features(cast<T>(x)) {
    gradient.leaves.assign(parameters.begin(), parameters.end());
    gradient.f = [this, targets] {
      const ModelInput<T> input{nullptr, &features, test::lengths({4, 2, 1}, 4)};
      return cross_entropy(model(input, Context{true, kRng, 0}), targets);
    };
  }
  Parameters<T> parameters{3};
  WindowMlp<T> model;
  Tensor<T> features;
  GradientProblem<T> gradient;
};

TEST(WindowMlp, Gradients) {
  const Tensor<double> x = random_tensor({3, 4, 2}, kRng);
  for (const Pool pool : {Pool::mean, Pool::max, Pool::attention}) {
    for (const std::size_t window : {1, 3}) {
      WindowMlpOptions o = options(window, 2, pool);
      o.dropout = 0.2;
      const Ids targets = test::random_ids({3}, kRng / "targets", 3);
      const Problem<double> problem(o, x, targets);
      const Problem<long double> reference(o, x, targets);
      GradcheckOptions gate;
      gate.tolerance = 1e-11;
      gate.entry_tolerance = 1e-9;
      const GradientReport report = check_gradients(problem.gradient, reference.gradient, gate);
      EXPECT_TRUE(report.ok()) << report.table();
    }
  }
}

TEST(WindowMlp, RefusesWhatMakesNoSense) {
  Parameters<double> parameters(1);
  EXPECT_TRUE(test::throws_with<ShapeError>(
      [&] { WindowMlp<double>(parameters.root() / "a", options(2, 1)); },
      "expected an odd window, got 2"));
  EXPECT_TRUE(test::throws_with<ShapeError>(
      [&] { WindowMlp<double>(parameters.root() / "b", options(1, 1, Pool::cls)); },
      "a class token needs attention"));
}

}  // namespace
}  // namespace xgrad

#include <xgrad/layers/init.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include <xgrad/layers/embedding.hpp>
#include <xgrad/layers/layers.hpp>
#include <xgrad/layers/positions.hpp>

#include "support/statistics.hpp"

namespace xgrad {
namespace {

// The draws of N(0, 1) times 0.02, to a rounding of float.
TEST(Initialization, EmbeddingsPositionsAndQueriesAreOfTheDocumentedSize) {
  const auto check = [](const std::string& path, const auto& make) {
    Parameters<float> parameters(5), normal(5);
    make(parameters.root() / "layer");
    const Parameter<float>& made =
        *std::find_if(parameters.begin(), parameters.end(),
                      [&](const Parameter<float>& p) { return p.name == "layer." + path; });
    const Variable<float> unit =
        (normal.root() / "layer").parameter(path, made.variable.shape(), init::normal(1));
    for (std::size_t i = 0; i < unit.value().size(); ++i) {
      const float value = made.variable.value().data()[i];
      EXPECT_NEAR(value, 0.02f * unit.value().data()[i], 1e-8f) << path;
    }
  };
  check("weight", [](const Scope<float>& scope) { Embedding<float>(scope, 5, 4); });
  check("query", [](const Scope<float>& scope) { Pooling<float>(scope, Pool::attention, 6); });
  PositionOptions grid;
  grid.kind = PositionKind::learned_2d;
  grid.width = 4;
  grid.rows = grid.columns = 3;
  for (const char* path : {"row_weight", "column_weight"}) {
    check(path, [&](const Scope<float>& scope) { Positions<float>(scope, grid); });
  }
}

// The values of a (fan_out, fan_in) matrix.
std::vector<double> values_of(const Initializer& init, std::size_t out, std::size_t in) {
  std::vector<double> values(out * in);
  init(values, {out, in}, Rng(3) / "weight");
  return values;
}

// Mean and variance to five standard errors, and the whole distribution.
void expect_distribution(const std::vector<double>& values, double variance, double fourth_moment,
                         const std::function<double(double)>& below) {
  double sum = 0, squares = 0;
  for (const double x : values) {
    sum += x;
    squares += x * x;
  }
  const double n = double(values.size());
  EXPECT_NEAR(sum / n, 0, 5 * std::sqrt(variance / n));
  EXPECT_NEAR(squares / n, variance, 5 * std::sqrt((fourth_moment - variance * variance) / n));
  EXPECT_TRUE(test::comes_from(values, below));
}

constexpr std::size_t kOut = 90, kIn = 150;

TEST(Initialization, UniformSchemesHaveTheirBounds) {
  for (const auto& [init, bound] :
       {std::pair{init::xavier_uniform(), std::sqrt(6.0 / (kOut + kIn))},
        {init::kaiming_uniform(), std::sqrt(6.0 / kIn)}}) {
    const double b = bound;
    expect_distribution(values_of(init, kOut, kIn), b * b / 3, b * b * b * b / 5,
                        [b](double x) { return (x / b + 1) / 2; });
  }
}

TEST(Initialization, NormalSchemesHaveTheirDeviations) {
  for (const auto& [init, std] : {std::pair{init::xavier_normal(), std::sqrt(2.0 / (kOut + kIn))},
                                  {init::kaiming_normal(), std::sqrt(2.0 / kIn)}}) {
    const double s = std;
    expect_distribution(values_of(init, kOut, kIn), s * s, 3 * s * s * s * s,
                        [s](double x) { return test::normal_cdf(x / s); });
  }
}

// With Z = P(|x| < 2) and the density f: variance 1 - 4 f(2) / Z, fourth moment 3 - 28 f(2) / Z.
TEST(Initialization, TruncatedNormalHasNothingBeyondTwoDeviations) {
  const double s = 0.5, inside = 1 - 2 * test::normal_cdf(-2);
  const double edge = std::exp(-2.0) / std::sqrt(2 * std::numbers::pi) / inside;
  const std::vector<double> values = values_of(init::trunc_normal(s), kOut, kIn);
  expect_distribution(
      values, s * s * (1 - 4 * edge), s * s * s * s * (3 - 28 * edge),
      [&](double x) { return (test::normal_cdf(x / s) - test::normal_cdf(-2)) / inside; });
  EXPECT_LE(*std::max_element(values.begin(), values.end()), 2 * s);
  EXPECT_GE(*std::min_element(values.begin(), values.end()), -2 * s);
  EXPECT_GT(*std::max_element(values.begin(), values.end()), 1.95 * s);
}

TEST(Initialization, OrthogonalMatricesHaveOrthonormalRowsOrColumns) {
  for (const auto& [out, in] : {std::pair<std::size_t, std::size_t>{40, 60}, {60, 40}, {50, 50}}) {
    const std::vector<double> w = values_of(init::orthogonal(), out, in);
    const std::size_t count = std::min(out, in), size = std::max(out, in);
    const auto at = [&, wide = out <= in, in = in](std::size_t i, std::size_t e) {
      return wide ? w[i * in + e] : w[e * in + i];
    };
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        double product = 0;
        for (std::size_t e = 0; e < size; ++e) product += at(i, e) * at(j, e);
        EXPECT_NEAR(product, i == j, 1e-14) << out << " " << i << " " << j;
      }
    }
  }
}

// An element of a uniformly distributed orthogonal (2, 2) matrix is the cosine of a uniform angle.
TEST(Initialization, OrthogonalMatricesAreUniformlyDistributed) {
  std::vector<double> firsts, determinants;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    std::vector<double> w(4);
    init::orthogonal()(w, {2, 2}, Rng(5) / i);
    firsts.push_back(w[0]);
    determinants.push_back(w[0] * w[3] - w[1] * w[2] > 0);
  }
  EXPECT_TRUE(
      test::comes_from(firsts, [](double x) { return 1 - std::acos(x) / std::numbers::pi; }));
  const double turns = double(std::count(determinants.begin(), determinants.end(), 1));
  EXPECT_NEAR(turns / 3000, 0.5, 5 * std::sqrt(0.25 / 3000)) << "as many turns as reflections";
}

TEST(Initialization, SchemesOfMatricesRefuseOtherShapes) {
  for (const Initializer& init :
       {init::xavier_uniform(), init::xavier_normal(), init::kaiming_uniform(),
        init::kaiming_normal(), init::orthogonal()}) {
    std::vector<double> values(8);
    EXPECT_THROW(init(values, {8}, Rng(1)), ShapeError);
  }
}

}  // namespace
}  // namespace xgrad

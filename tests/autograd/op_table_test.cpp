#include "autograd/op_table.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string_view>

#include <xgrad/autograd/op.hpp>

#include "support/gradients.hpp"

namespace xgrad::test {

namespace {

template <class T>
std::vector<Variable<T>> leaves(const std::vector<Tensor<double>>& inputs) {
  std::vector<Variable<T>> x;
  for (const Tensor<double>& input : inputs) x.emplace_back(cast<T>(input), true);
  return x;
}

GradientReport check(const Sample& sample, std::uint64_t seed) {
  GradientProblem<double> problem;
  GradientProblem<long double> reference;
  const auto x = leaves<double>(sample.inputs);
  const auto r = leaves<long double>(sample.inputs);
  for (std::size_t i = 0; i < x.size(); ++i) {
    problem.leaves.push_back({"input " + std::to_string(i), x[i]});
    reference.leaves.push_back({"input " + std::to_string(i), r[i]});
  }
  problem.f = [&] { return sample.in_double(x); };
  reference.f = [&] { return sample.reference(r); };
  GradcheckOptions options;
  options.seed = seed;
  options.directions = 1;
  return check_gradients(problem, reference, options);
}

// The result and the gradients of all inputs, contracted with fixed random numbers.
template <class T>
std::vector<Tensor<double>> values_and_gradients(const Sample::Function<T>& f, const Sample& sample,
                                                 const Rng& rng) {
  const auto x = leaves<T>(sample.inputs);
  const Variable<T> y = f(x);
  std::vector<Tensor<double>> result{cast<double>(y.value())};
  y.backward(cast<T>(cast<float>(random_tensor(y.shape(), rng))));
  for (const Variable<T>& leaf : x) {
    result.push_back(leaf.has_grad() ? cast<double>(leaf.grad()) : zeros<double>(leaf.shape()));
  }
  return result;
}

bool graph_has(const Variable<double>& y, std::string_view op) {
  std::vector<const Node<double>*> nodes{y.node().get()};
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    if (nodes[at]->name == op) return true;
    for (const auto& input : nodes[at]->inputs) {
      if (input) nodes.push_back(input.get());
    }
  }
  return false;
}

class EveryOp : public testing::TestWithParam<OpCase> {
 protected:
  Rng rng() const { return Rng(20260101) / GetParam().op / GetParam().variant; }
};

// G1, G2: 200 random cases each; the laws of the reverse pass are part of every check.
TEST_P(EveryOp, HasTheRightGradient) {
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    const Sample sample = GetParam().sample(rng() / trial, 1 + trial % 5);
    const GradientReport report = check(sample, trial);
    ASSERT_TRUE(report.ok()) << "trial " << trial << "\n" << report.table();
  }
}

// G4: float takes other code (vector lanes and their remainders, polynomials for exp).
TEST_P(EveryOp, IsTheSameInFloat) {
  for (std::size_t n = 1; n <= 67; ++n) {
    Sample sample = GetParam().sample(rng() / "float" / n, n);
    for (Tensor<double>& x : sample.inputs) x = cast<double>(cast<float>(x));
    const auto expected = values_and_gradients<double>(sample.in_double, sample, rng() / n);
    const auto actual = values_and_gradients<float>(sample.in_float, sample, rng() / n);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      double largest = GetParam().terms;
      for (std::size_t k = 0; k < expected[i].size(); ++k) {
        largest = std::max(largest, std::fabs(expected[i].data()[k]));
      }
      const double unit = double(std::numeric_limits<float>::epsilon()) * largest;
      ASSERT_TRUE(tensors_near(actual[i], expected[i], GetParam().float_tolerance * unit))
          << (i == 0 ? "result" : "gradient of input " + std::to_string(i - 1)) << ", n = " << n;
    }
  }
}

TEST_P(EveryOp, IsTheOpThatTheRowNames) {
  const Sample sample = GetParam().sample(rng(), 3);
  EXPECT_TRUE(graph_has(sample.in_double(leaves<double>(sample.inputs)), GetParam().op));
}

TEST_P(EveryOp, RecordsNothingWithoutGrad) {
  const Sample sample = GetParam().sample(rng(), 3);
  const auto x = leaves<double>(sample.inputs);
  const Variable<double> recorded = sample.in_double(x);
  const NoGrad no_grad;
  const Variable<double> y = sample.in_double(x);
  EXPECT_FALSE(y.requires_grad());
  EXPECT_TRUE(same_bits(y.value(), recorded.value()));
}

TEST_P(EveryOp, NamesItselfWhenShapesAreWrong) {
  static const std::set<std::string> any_shape = {"scale", "relu", "tanh", "gelu", "sum", "mean"};
  ASSERT_TRUE(!GetParam().wrong_calls.empty() || any_shape.contains(GetParam().op))
      << "give this row a call with wrong shapes";
  for (const auto& call : GetParam().wrong_calls) {
    try {
      call();
      ADD_FAILURE() << "wrong call " << (&call - GetParam().wrong_calls.data())
                    << " throws nothing";
    } catch (const ShapeError& error) {
      EXPECT_EQ(std::string(error.what()).find(GetParam().op + ": "), 0u) << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, EveryOp, testing::ValuesIn(op_cases()), [](const auto& row) {
  return row.param.op + (row.param.variant.empty() ? "" : "_" + row.param.variant);
});

}  // namespace

}  // namespace xgrad::test

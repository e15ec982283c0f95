#include "autograd/op_table.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string_view>

#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/parallel.hpp>

#include "support/gradients.hpp"

namespace xgrad::test {

namespace {

template <class T>
std::vector<Variable<T>> leaves(const std::vector<Tensor<double>>& inputs) {
  std::vector<Variable<T>> x;
  for (const Tensor<double>& input : inputs) x.emplace_back(cast<T>(input), true);
  return x;
}

GradientReport check(const Sample& sample, const GradcheckOptions& options) {
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
  return check_gradients(problem, reference, options);
}

// The result and the gradients of all inputs, contracted with fixed random numbers.
template <class T>
std::vector<Tensor<double>> values_and_gradients(const Sample::Function<T>& f,
                                                 const std::vector<Variable<T>>& x,
                                                 const Rng& rng) {
  const Variable<T> y = f(x);
  std::vector<Tensor<double>> result{cast<double>(y.value())};
  y.backward(cast<T>(cast<float>(random_tensor(y.shape(), rng))));
  for (const Variable<T>& leaf : x) {
    result.push_back(leaf.has_grad() ? cast<double>(leaf.grad()) : zeros<double>(leaf.shape()));
  }
  return result;
}

template <class T>
std::vector<Tensor<double>> values_and_gradients(const Sample::Function<T>& f, const Sample& sample,
                                                 const Rng& rng) {
  return values_and_gradients(f, leaves<T>(sample.inputs), rng);
}

std::string what(std::size_t i) {
  return i == 0 ? "result" : "gradient of input " + std::to_string(i - 1);
}

double largest(const Tensor<double>& x) {
  double result = 0;
  for (std::size_t i = 0; i < x.size(); ++i) result = std::max(result, std::fabs(x.data()[i]));
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

// The inputs with some extents 0: for each axis of each input, that axis alone, all axes of its
// extent, and the axes of all inputs at the same place counted from the front and from the back.
std::vector<Sample> with_zero_extents(const Sample& sample) {
  std::vector<Sample> result;
  const auto emptied = [&](auto&& goes) {
    result.push_back(sample);
    std::vector<Tensor<double>>& inputs = result.back().inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Shape shape = inputs[i].shape();
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (goes(i, axis, inputs[i].shape())) shape[axis] = 0;
      }
      if (shape != inputs[i].shape()) inputs[i] = zeros<double>(shape);
    }
  };
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    const Shape& mine = sample.inputs[i].shape();
    for (std::size_t a = 0; a < mine.size(); ++a) {
      using std::size_t;
      emptied([=](size_t j, size_t axis, const Shape&) { return j == i && axis == a; });
      emptied([&](size_t, size_t axis, const Shape& shape) { return shape[axis] == mine[a]; });
      emptied([=](size_t, size_t axis, const Shape&) { return axis == a; });
      emptied([&](size_t, size_t axis, const Shape& shape) {
        return shape.size() - axis == mine.size() - a;
      });
    }
  }
  return result;
}

bool all_finite(const std::vector<Tensor<double>>& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [](const Tensor<double>& x) {
    return std::all_of(x.data(), x.data() + x.size(), [](double v) { return std::isfinite(v); });
  });
}

// Whether the message is that of an op of the table.
bool starts_with_an_op(std::string_view message) {
  return std::any_of(op_cases().begin(), op_cases().end(),
                     [&](const OpCase& row) { return message.starts_with(row.op + ": "); });
}

std::string shapes_of(const Sample& sample) {
  std::string result;
  for (const Tensor<double>& x : sample.inputs) result += to_string(x.shape());
  return result;
}

// Whether the op accepts the shapes of the inputs.
bool takes(const Sample& sample) {
  try {
    sample.in_double(leaves<double>(sample.inputs));
    return true;
  } catch (const ShapeError&) {
    return false;
  }
}

// What has no elements has a result, whose gradient is right.
void expect_right(const Sample& sample, const Rng& rng) {
  const auto expected = values_and_gradients<double>(sample.in_double, sample, rng);
  EXPECT_TRUE(all_finite(expected));
  const auto actual = values_and_gradients<float>(sample.in_float, sample, rng);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(tensors_near(actual[i], expected[i], 1e-3 * (1 + largest(expected[i]))));
  }
  GradientReport report = check(sample, {.directions = 1});
  std::erase(report.failures, "every gradient is zero: this checks nothing");
  EXPECT_TRUE(report.ok()) << report.table();
}

class EveryOp : public testing::TestWithParam<OpCase> {
 protected:
  Rng rng() const { return Rng(20260101) / GetParam().op / GetParam().variant; }
};

// G1, G2: 200 random cases each; the laws of the reverse pass are part of every check.
TEST_P(EveryOp, HasTheRightGradient) {
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    const Sample sample = GetParam().sample(rng() / trial, 1 + trial % 5);
    const GradientReport report = check(sample, {.directions = 1, .seed = trial});
    ASSERT_TRUE(report.ok()) << "trial " << trial << "\n" << report.table();
  }
}

// A block that reads or writes at the wrong offset shows only where there are several.
TEST_P(EveryOp, HasTheRightGradientInManyBlocks) {
  const Sample sample = GetParam().sample(rng() / "blocks", GetParam().large);
  const GradientReport report =
      check(sample, {.tolerance = 1e-10, .entry_tolerance = 1e-8, .entries = 4, .directions = 2});
  EXPECT_TRUE(report.ok()) << report.table();
}

// G4: float takes other code (vector lanes and their remainders, polynomials for exp).
TEST_P(EveryOp, IsTheSameInFloat) {
  for (std::size_t n = 1; n <= 67; ++n) {
    Sample sample = GetParam().sample(rng() / "float" / n, n);
    for (Tensor<double>& x : sample.inputs) x = cast<double>(cast<float>(x));
    const auto expected = values_and_gradients<double>(sample.in_double, sample, rng() / n);
    const auto actual = values_and_gradients<float>(sample.in_float, sample, rng() / n);
    double overall = 0;
    for (const Tensor<double>& x : expected) overall = std::max(overall, largest(x));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      // A small tensor beside large ones is often a sum that cancels.
      const double size = std::max({largest(expected[i]), overall / 16, GetParam().terms});
      const double unit = double(std::numeric_limits<float>::epsilon()) * size;
      ASSERT_TRUE(tensors_near(actual[i], expected[i], GetParam().float_tolerance * unit))
          << what(i) << ", n = " << n;
    }
  }
}

// Blocks and their order depend on shapes alone.
TEST_P(EveryOp, GivesTheSameBitsForAnyNumberOfThreads) {
  const int before = threads();
  for (std::uint64_t trial = 0; trial < 3; ++trial) {
    const Sample sample = GetParam().sample(rng() / "threads" / trial, GetParam().large);
    set_threads(1);
    const auto expected = values_and_gradients<float>(sample.in_float, sample, rng() / trial);
    for (int count : {2, 3, 8}) {
      set_threads(count);
      const auto actual = values_and_gradients<float>(sample.in_float, sample, rng() / trial);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_TRUE(same_bits(actual[i], expected[i])) << what(i) << ", " << count << " threads";
      }
    }
  }
  set_threads(before);
}

template <class T>
void expect_same_bits_alone(const Sample::Function<T>& f, const Sample& sample, const Rng& rng) {
  const auto all = values_and_gradients<T>(f, sample, rng);
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
    auto x = leaves<T>(sample.inputs);
    for (std::size_t other = 0; other < x.size(); ++other) {
      if (other != i) x[other] = x[other].detach();
    }
    const auto alone = values_and_gradients<T>(f, x, rng);
    EXPECT_TRUE(same_bits(alone[i + 1], all[i + 1])) << what(i + 1);
  }
}

// A gradient does not depend on whether others are asked for.
TEST_P(EveryOp, GivesTheSameGradientToOneInputAlone) {
  for (const std::size_t n : {1, 2, 3, 4, 5, 16, 67, 300}) {
    const Sample sample = GetParam().sample(rng() / "alone" / n, n);
    expect_same_bits_alone<double>(sample.in_double, sample, rng() / n);
    expect_same_bits_alone<float>(sample.in_float, sample, rng() / n);
  }
}

// One Variable in two places, as q = k = v of an attention: its gradient is the sum of both.
TEST_P(EveryOp, TakesOneVariableInTwoPlaces) {
  for (std::uint64_t trial = 0; trial < 20; ++trial) {
    Sample sample = GetParam().sample(rng() / "two places" / trial, 1 + trial % 5);
    for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
      for (std::size_t j = i + 1; j < sample.inputs.size(); ++j) {
        if (sample.inputs[i].shape() != sample.inputs[j].shape()) continue;
        sample.inputs[j] = sample.inputs[i];
        auto x = leaves<double>(sample.inputs);
        const auto apart = values_and_gradients<double>(sample.in_double, x, rng());
        x = leaves<double>(sample.inputs);
        x[j] = x[i];
        const auto together = values_and_gradients<double>(sample.in_double, x, rng());
        const Tensor<double> sum = apart[i + 1] + apart[j + 1];
        const double size = std::max(largest(apart[i + 1]), largest(apart[j + 1]));
        EXPECT_TRUE(tensors_near(together[i + 1], sum, 1e-13 * size)) << what(i + 1);
      }
    }
  }
}

TEST_P(EveryOp, IsTheOpThatTheRowNames) {
  const Sample sample = GetParam().sample(rng(), 3);
  EXPECT_TRUE(graph_has(sample.in_double(leaves<double>(sample.inputs)), GetParam().op));
}

template <class T>
void expect_same_bits_without_grad(const Sample::Function<T>& f, const Sample& sample) {
  const auto x = leaves<T>(sample.inputs);
  const Variable<T> recorded = f(x);
  const NoGrad no_grad;
  const Variable<T> y = f(x);
  EXPECT_FALSE(y.requires_grad());
  EXPECT_TRUE(same_bits(y.value(), recorded.value()));
}

// recompute() relies on the bits: it runs a function without a graph first, and then with one.
TEST_P(EveryOp, RecordsNothingWithoutGrad) {
  for (const std::size_t n : {3, 16, 67, 300}) {
    const Sample sample = GetParam().sample(rng(), n);
    expect_same_bits_without_grad<double>(sample.in_double, sample);
    expect_same_bits_without_grad<float>(sample.in_float, sample);
  }
}

TEST_P(EveryOp, NamesItselfWhenShapesAreWrong) {
  static const std::set<std::string> any_shape = {"scale", "relu",   "exp",  "log",
                                                  "sqrt",  "symlog", "tanh", "sigmoid",
                                                  "silu",  "gelu",   "sum",  "mean"};
  const bool some = std::any_of(op_cases().begin(), op_cases().end(), [&](const OpCase& row) {
    return row.op == GetParam().op && !row.wrong_calls.empty();
  });
  ASSERT_TRUE(some || any_shape.contains(GetParam().op)) << "give a row a call with wrong shapes";
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

TEST_P(EveryOp, TakesZeroExtentsOrRefusesThem) {
  for (std::uint64_t trial = 0; trial < 12; ++trial) {
    for (const Sample& sample : with_zero_extents(GetParam().sample(rng() / trial, 3))) {
      SCOPED_TRACE("trial " + std::to_string(trial) + ", inputs " + shapes_of(sample));
      try {
        expect_right(sample, rng());
      } catch (const ShapeError& error) {
        EXPECT_TRUE(starts_with_an_op(error.what())) << error.what();
      }
    }
  }
}

TEST_P(EveryOp, TakesSomeZeroExtents) {
  bool taken = false;
  for (const OpCase& row : op_cases()) {
    if (row.op != GetParam().op) continue;
    for (const Sample& sample : row.zero_extents) {
      SCOPED_TRACE("inputs " + shapes_of(sample));
      expect_right(sample, rng());
      taken = true;
    }
    for (std::uint64_t trial = 0; trial < 12 && !taken; ++trial) {
      const auto samples = with_zero_extents(row.sample(rng() / trial, 3));
      taken = std::any_of(samples.begin(), samples.end(), takes);
    }
  }
  EXPECT_TRUE(taken) << "give a row zero_extents";
}

INSTANTIATE_TEST_SUITE_P(Table, EveryOp, testing::ValuesIn(op_cases()), [](const auto& row) {
  return row.param.op + (row.param.variant.empty() ? "" : "_" + row.param.variant);
});

}  // namespace

}  // namespace xgrad::test

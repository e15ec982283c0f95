#include <gtest/gtest.h>

#include <xgrad/autograd/gradcheck/gradcheck.hpp>
#include <xgrad/autograd/ops.hpp>

#include "autograd/planted_op.hpp"
#include "support/gradients.hpp"

namespace xgrad::test {

namespace {

using Names = std::vector<std::string>;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

bool has(const GradientReport& report, const std::string& failure) {
  return std::any_of(report.failures.begin(), report.failures.end(),
                     [&](const std::string& text) { return has(text, failure); });
}

GradientReport check_planted(Defect defect, std::uint64_t seed = 0) {
  const Rng rng = Rng(seed) / "planted";
  return check_gradients(
      [defect](const auto& x) { return planted(x[0], x[1], defect); },
      {random_tensor({3, 4}, rng / "x"), random_tensor({4}, rng / "w", 0.5, 1.5)}, {.seed = seed});
}

std::vector<std::string> failed_rows(const GradientReport& report) {
  std::vector<std::string> names;
  for (const GradientRow& row : report.rows) {
    if (!row.ok()) names.push_back(row.name);
  }
  return names;
}

// Ten different points and directions each: a defect must never slip through.
void expect_caught(Defect defect, const std::string& leaf, const std::string& law) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const GradientReport report = check_planted(defect, seed);
    EXPECT_FALSE(report.ok());
    if (law.empty()) {
      EXPECT_EQ(failed_rows(report), (Names{leaf, "all"})) << report.table();
      EXPECT_FALSE(report.worst().ok());
      EXPECT_TRUE(has(report.table(), "\n!  " + leaf));
    } else {
      EXPECT_TRUE(has(report, leaf + ": " + law)) << report.table();
    }
  }
}

}  // namespace

TEST(Gradcheck, PassesWhatIsRight) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const GradientReport report = check_planted(Defect::none, seed);
    EXPECT_TRUE(report.ok()) << report.table();
    EXPECT_LT(report.worst().relative, 1e-14);
  }
}

TEST(Gradcheck, FindsAWrongSign) {
  expect_caught(Defect::wrong_sign, "input 0", "");
}
TEST(Gradcheck, FindsAnErrorOfOneMillionth) {
  expect_caught(Defect::slightly_scaled, "input 0", "");
}
// With the options of a whole model. Layer norm of two numbers curves where they differ by less
// than the root of its eps, so the step has to shrink.
TEST(Gradcheck, FindsAnErrorOfOneMillionthWhereTheStepShrinks) {
  GradcheckOptions options;
  options.levels = 2;
  options.step = 1e-3;
  options.tolerance = 1e-11;
  options.entry_tolerance = 1e-9;
  for (options.seed = 0; options.seed < 20; ++options.seed) {
    const Rng rng = Rng(options.seed) / "short scale";
    const auto report = [&](Defect defect) {
      return check_gradients(
          [defect](const auto& x) {
            return planted(layer_norm(x[0], x[1], x[2], 1e-5), x[3], defect);
          },
          {random_tensor({6, 2}, rng / "x", -0.02, 0.02),
           random_tensor({2}, rng / "weight", 0.5, 1.5), random_tensor({2}, rng / "bias"),
           random_tensor({2}, rng / "w", 0.5, 1.5)},
          options);
    };
    EXPECT_TRUE(report(Defect::none).ok()) << report(Defect::none).table();
    EXPECT_FALSE(report(Defect::slightly_scaled).ok());
  }
}

TEST(Gradcheck, FindsADroppedTerm) {
  expect_caught(Defect::dropped_term, "input 0", "");
}
TEST(Gradcheck, FindsASwappedOperand) {
  expect_caught(Defect::swapped_saved, "input 0", "");
}
TEST(Gradcheck, FindsAMissingSum) {
  expect_caught(Defect::missing_sum, "input 1", "");
}
TEST(Gradcheck, FindsAMissingGradient) {
  expect_caught(Defect::no_gradient, "input 1", "");
  expect_caught(Defect::no_gradient, "input 1", "no gradient arrives");
}
TEST(Gradcheck, FindsABackwardThatIsNotLinear) {
  expect_caught(Defect::nonlinear, "input 0", "backward is not linear");
}
TEST(Gradcheck, FindsABackwardThatIsNotZeroAtZero) {
  expect_caught(Defect::not_zero_at_zero, "input 0", "backward of 0");
}
TEST(Gradcheck, FindsAnOpThatOverwritesGradients) {
  expect_caught(Defect::overwrites, "input 1", "gradients do not accumulate");
}
TEST(Gradcheck, FindsAForwardThatChanges) {
  expect_caught(Defect::changes_every_call, "input 0", "a second call");
}
TEST(Gradcheck, FindsABackwardThatChanges) {
  expect_caught(Defect::scratches_its_state, "input 0", "a second backward");
}

TEST(Gradcheck, RefusesToPassWhenEverythingIsZero) {
  const GradientReport constant =
      check_gradients([](const auto& x) { return scale(x[0], 0); }, {random_tensor({3}, Rng(1))});
  EXPECT_FALSE(constant.ok());
  EXPECT_TRUE(has(constant, "checks nothing")) << constant.table();
  const GradientReport cut =
      check_gradients([](const auto& x) { return x[0].detach(); }, {random_tensor({3}, Rng(1))});
  EXPECT_TRUE(has(cut, "input 0: no gradient arrives")) << cut.table();
}

// A bias that a softmax cancels has no gradient, but backward's rounding leaves 1e-17.
TEST(Gradcheck, AllowsRoundingWhereTheGradientIsZero) {
  const auto f = [](const auto& x) { return softmax(add(mul(x[0], x[0]), x[1])); };
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Rng rng = Rng(seed) / "zero";
    EXPECT_TRUE(
        gradients_agree(f, {normal_tensor({4, 7}, rng), normal_tensor({4, 1}, rng / "bias")}));
  }
}

// Curves fifty times sharper than the first step expects, and kinks a hundredth away.
TEST(Gradcheck, ShortensItsSteps) {
  const auto sharp = [](const auto& x) { return tanh(scale(x[0], 50)); };
  EXPECT_TRUE(gradients_agree(sharp, {random_tensor({40}, Rng(2), -0.05, 0.05)}));
  const auto kink = [](const auto& x) { return mul(relu(x[0]), x[0]); };
  EXPECT_TRUE(gradients_agree(kink, {tensor({4}, {0.003, -0.003, 0.001, 2})}));
}

TEST(Gradcheck, ProbesLargeLeavesAtRandomAndAlongDirections) {
  const auto f = [](const auto& x) { return tanh(x[0]); };
  const GradientReport report =
      check_gradients(f, {random_tensor({10, 100}, Rng(3))}, {.entries = 16, .directions = 3});
  EXPECT_TRUE(report.ok()) << report.table();
  ASSERT_EQ(report.rows.size(), 2u);
  EXPECT_EQ(report.rows[0].probed, 19u);
  EXPECT_EQ(report.rows[1].name, "all");
  EXPECT_EQ(report.rows[1].probed, 3u);
}

TEST(Gradcheck, ProbesSmallLeavesAlongDirectionsToo) {
  const auto f = [](const auto& x) { return tanh(x[0]); };
  const std::vector<Tensor<double>> inputs = {random_tensor({3}, Rng(3))};
  EXPECT_EQ(check_gradients(f, inputs).rows[0].probed, 3u);
  const GradientReport report = check_gradients(f, inputs, {.small_directions = true});
  EXPECT_EQ(report.rows[0].probed, 7u);
  EXPECT_EQ(report.rows[0].directions, 4u);
}

TEST(Gradcheck, ProbesOnlyThePlacesWanted) {
  const auto f = [](const auto& x) { return mul(x[0], tanh(x[1])); };
  const std::vector<Tensor<double>> inputs = {random_tensor({2, 3}, Rng(3)),
                                              random_tensor({2, 3}, Rng(4))};
  const GradientReport report =
      check_gradients(f, inputs, {.places = {{"input 1", "[1, 2]"}, {"all", "direction 2"}}});
  ASSERT_EQ(report.rows.size(), 2u);
  EXPECT_EQ(report.rows[0].name + report.rows[0].place, "input 1[1, 2]");
  EXPECT_EQ(report.rows[1].name + report.rows[1].place, "alldirection 2");
  EXPECT_EQ(report.rows[0].probed + report.rows[1].probed, 2u);
}

// 49 of 50 entries at random: each is probed once, so one probe is missing for all of them.
TEST(Gradcheck, ProbesDifferentEntries) {
  const auto f = [](const auto& x) { return tanh(x[0]); };
  for (std::size_t i = 0; i < 50; ++i) {
    const GradientReport report = check_gradients(
        f, {random_tensor({50}, Rng(3))},
        {.entries = 49, .directions = 0, .places = {{"input 0", "[" + std::to_string(i) + "]"}}});
    for (const GradientRow& row : report.rows) EXPECT_EQ(row.probed, 1u);
  }
}

// d/dx of the sum of x^3 is 3 x^2, whatever the random cotangent.
TEST(Gradcheck, RowsGiveTheDerivativesOfANumber) {
  const auto f = [](const auto& x) { return sum(mul(mul(x[0], x[0]), x[0])); };
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const GradientReport report =
        check_gradients(f, {tensor({1}, {0.75})}, {.directions = 0, .seed = seed});
    EXPECT_NEAR(report.rows[0].analytic, 3 * 0.75 * 0.75, 1e-15);
    EXPECT_NEAR(report.rows[0].numeric, 3 * 0.75 * 0.75, 1e-14);
    EXPECT_NEAR(report.rows[0].scale, 3 * 0.75 * 0.75, 1e-14);
  }
}

// x^3 with the derivative 3.3 x^2 at 1/2: the error is 0.075, a tenth of the true derivative.
TEST(Gradcheck, RowsGiveTheError) {
  const auto f = [](const auto& x) {
    const auto right = mul(mul(x[0], x[0]), x[0]);
    return sum(add(right, scale(sub(right, right.detach()), 0.1)));
  };
  Tensor<double> half = tensor({1}, {0.5});
  GradientProblem<double> problem = detail::gradient_problem<double>(f, {half});
  GradientProblem<long double> reference = detail::gradient_problem<long double>(
      [](const auto& x) { return sum(mul(mul(x[0], x[0]), x[0])); }, {half});
  const GradientReport report = check_gradients(problem, reference, {.directions = 0});
  const GradientRow& row = report.rows.at(0);
  EXPECT_NEAR(row.error, 0.075, 1e-12);
  EXPECT_NEAR(row.relative, 0.1, 1e-12);
  EXPECT_EQ(row.failed, 1u);
  EXPECT_TRUE(has(report.table(), "  0/1\n")) << report.table();
}

TEST(Gradcheck, ExactDerivativesHaveAPlace) {
  const auto f = [](const auto& x) { return scale(x[0], 2); };
  const GradientReport report = check_gradients(f, {tensor({1}, {0.5})}, {.directions = 0});
  EXPECT_EQ(report.rows.at(0).error, 0);
  EXPECT_EQ(report.rows.at(0).place, "[0]");
}

// Differences in double of the problem itself see an error of one millionth, too.
TEST(Gradcheck, DifferencesInDouble) {
  const GradcheckOptions options{
      .tolerance = 1e-8, .entry_tolerance = 1e-6, .floor = 1e-11, .step = 4e-3, .levels = 2};
  for (const Defect defect : {Defect::none, Defect::slightly_scaled, Defect::wrong_sign}) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      const Rng rng = Rng(seed) / "planted";
      const auto problem = detail::gradient_problem<double>(
          [defect](const auto& x) { return planted(x[0], x[1], defect); },
          {random_tensor({3, 4}, rng / "x"), random_tensor({4}, rng / "w", 0.5, 1.5)});
      const GradientReport report = check_gradients(problem, problem, options);
      EXPECT_EQ(report.ok(), defect == Defect::none) << report.table();
    }
  }
}

// One wrong entry among ten thousand is seen by the directions.
TEST(Gradcheck, FindsOneWrongEntryOfALargeLeaf) {
  Tensor<double> w = random_tensor({10000}, Rng(4), 0.5, 1);
  GradientProblem<double> problem;
  GradientProblem<long double> reference;
  const Variable<double> x(w, true);
  const Variable<long double> r(cast<long double>(w), true);
  problem.leaves = {{"x", x}};
  reference.leaves = {{"x", r}};
  Tensor<double> bent = full<double>({10000}, 1);
  bent.data()[7777] = 1 + 1e-6;
  const Variable<double> factors(bent);
  // The same value, another derivative: x f - stop(x) (f - 1).
  problem.f = [&] {
    const Variable<double> rest(full<double>({10000}, -1));
    return add(mul(x, factors),
               mul(x.detach(), sub(Variable<double>(full<double>({10000}, 1)), factors)));
  };
  reference.f = [&] { return scale(r, 1); };
  const GradientReport report = check_gradients(problem, reference);
  EXPECT_FALSE(report.ok());
  EXPECT_TRUE(has(report.rows[0].place, "direction")) << report.table();
}

TEST(Gradcheck, LeavesTheLeavesAsTheyWere) {
  const Tensor<double> values = random_tensor({3, 2}, Rng(5));
  auto problem =
      detail::gradient_problem<double>([](const auto& x) { return tanh(x[0]); }, {values});
  auto reference =
      detail::gradient_problem<long double>([](const auto& x) { return tanh(x[0]); }, {values});
  check_gradients(problem, reference);
  EXPECT_TRUE(same_bits(problem.leaves[0].variable.value(), values));
  EXPECT_TRUE(same_bits(reference.leaves[0].variable.value(), cast<long double>(values)));
  EXPECT_FALSE(problem.leaves[0].variable.has_grad());
}

TEST(Gradcheck, RefusesProblemsThatDiffer) {
  const auto f = [](const auto& x) { return tanh(x[0]); };
  const Tensor<double> a = random_tensor({3}, Rng(6));
  const Tensor<double> b = random_tensor({3}, Rng(7));
  const auto problem = detail::gradient_problem<double>(f, {a});
  const auto check = [&](const std::vector<Tensor<double>>& inputs) {
    check_gradients(problem, detail::gradient_problem<long double>(f, inputs));
  };
  EXPECT_TRUE(
      throws_with<ShapeError>([&] { check({b}); }, "'input 0' and its copy in the reference"));
  EXPECT_TRUE(throws_with<ShapeError>([&] { check({a, b}); }, "has 1 leaves, the reference 2"));
  EXPECT_TRUE(
      throws_with<ShapeError>([&] { check({zeros<double>({4})}); }, "(3), the reference has"));
}

TEST(Gradcheck, CallsNaNAFailure) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto f = [nan](const auto& x) { return add(tanh(x[0]), scale(x[1], nan)); };
  const GradientReport report = check_gradients(f, {zeros<double>({2}), zeros<double>({2})});
  EXPECT_EQ(failed_rows(report), (Names{"input 0", "input 1", "all"})) << report.table();
}

TEST(GradientReport, PrintsAnAlignedTable) {
  const std::string table = check_planted(Defect::missing_sum).table();
  std::vector<std::size_t> ends;
  for (std::size_t at = table.find('\n'); at != std::string::npos; at = table.find('\n', at + 1)) {
    ends.push_back(at);
  }
  ASSERT_EQ(ends.size(), 4u) << table;
  for (std::size_t i = 1; i < ends.size(); ++i)
    EXPECT_EQ(ends[i] - ends[i - 1], ends[0] + 1) << table;
  EXPECT_TRUE(has(table, "!  input 1"));
  EXPECT_FALSE(has(table, "!  input 0"));
}

}  // namespace xgrad::test

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include <xgrad/autograd/parallel.hpp>
#include <xgrad/optim/clip.hpp>
#include <xgrad/optim/flat_parameters.hpp>

#include "golden.hpp"

namespace xgrad {
namespace {

TEST(Clip, AsTorch) {
  for (const auto& [name, max_norm] :
       {std::pair<std::string, double>{"clip", 0.75}, {"no_clip", 100.0}}) {
    Parameters<double> parameters(0);
    test::make_golden_parameters(parameters);
    test::set_golden_gradients(parameters, 0);
    const double norm = global_norm(parameters);
    EXPECT_NEAR(norm, test::golden().at(name + ".norm").at(0), 1e-14);
    for (const auto& p : parameters) {
      Tensor<double> g = p.variable.grad();
      for (double& x : g) x *= clip_factor(norm, max_norm);
      EXPECT_LE(test::difference(g, name + "." + p.name), 1e-14) << name << " " << p.name;
    }
  }
}

TEST(Clip, Factor) {
  EXPECT_EQ(clip_factor(3.0, 0.0), 1.0);
  EXPECT_EQ(clip_factor(0.0, 1.0), 1.0);
  EXPECT_EQ(clip_factor(3.0, 1.5), 1.5 / (3.0 + 1e-6));
}

// A factor below 0 would turn the step around.
TEST(Clip, RefusesANormThatIsNone) {
  for (const auto& [norm, max_norm] : {std::pair{-1.0, 1.0},
                                       {-1.0, 0.0},
                                       {std::nan(""), 1.0},
                                       {HUGE_VAL, 1.0},
                                       {1.0, -1.0},
                                       {1.0, std::nan("")}}) {
    EXPECT_THROW(clip_factor(norm, max_norm), NumericError) << norm << " " << max_norm;
  }
}

// torch.nn.utils.clip_grad_value_ clamps each element.
TEST(ClipValues, LimitsEveryElementOfAPart) {
  Parameters<double> parameters(0);
  const std::size_t size = 2 * detail::FlatParameters::kBlock + 5;
  const auto x = test::make_parameter(parameters, "a.x", {size}, test::constant(0));
  const auto idle = test::make_parameter(parameters, "a.y", {3}, test::constant(0));
  Tensor<double> gradient = empty<double>({size});
  for (std::size_t i = 0; i < size; ++i) gradient(i) = (double(i % 7) - 3) / 2;
  test::add_gradient(x, gradient);
  clip_values(parameters, 0.75,
              {{detail::FlatParameters::kBlock, 2 * detail::FlatParameters::kBlock}});
  for (std::size_t i = 0; i < size; ++i) {
    const bool inside =
        i >= detail::FlatParameters::kBlock && i < 2 * detail::FlatParameters::kBlock;
    ASSERT_EQ(x.grad()(i), inside ? std::clamp(gradient(i), -0.75, 0.75) : gradient(i)) << i;
  }
  clip_values(parameters, 0.75);
  for (std::size_t i = 0; i < size; ++i) {
    ASSERT_EQ(x.grad()(i), std::clamp(gradient(i), -0.75, 0.75)) << i;
  }
  EXPECT_FALSE(idle.has_grad());
}

// 3, 4 and a gradient that never came; float squares that overflow float do not overflow here.
TEST(GlobalNorm, SumsInDoubleWhatIsThere) {
  Parameters<float> parameters(0);
  const auto x = test::make_parameter(parameters, "a.x", {1}, test::constant(0));
  const auto y = test::make_parameter(parameters, "a.y", {1}, test::constant(0));
  test::make_parameter(parameters, "a.z", {1}, test::constant(0));
  EXPECT_EQ(global_norm(parameters), 0.0);
  test::add_gradient(x, full<float>({1}, 3e30f));
  test::add_gradient(y, full<float>({1}, 4e30f));
  EXPECT_NEAR(global_norm(parameters), 5e30, 1e24);
}

TEST(GlobalNorm, SameBitsForAnyNumberOfThreads) {
  Parameters<float> parameters(0);
  for (const std::size_t size : {70001, 3, 8192, 12345}) {
    const auto x =
        test::make_parameter(parameters, "m.w" + std::to_string(size), {size}, test::constant(0));
    Tensor<float> g = empty<float>({size});
    for (std::size_t e = 0; e < size; ++e) g.data()[e] = float(Rng(size).normal(e));
    test::add_gradient(x, std::move(g));
  }
  const int before = threads();
  set_threads(1);
  const double expected = global_norm(parameters);
  EXPECT_NEAR(expected, std::sqrt(90541.0), 2);
  for (const int count : {2, 3, 8}) {
    set_threads(count);
    EXPECT_EQ(global_norm(parameters), expected) << count;
  }
  set_threads(before);
}

// One NaN anywhere reaches the norm, in whichever block.
TEST(GlobalNorm, ShowsOneNanInAnyBlock) {
  for (const std::size_t place : {0, 8191, 8192, 19999}) {
    Parameters<float> parameters(0);
    const auto x = test::make_parameter(parameters, "a.x", {20000}, test::constant(0));
    Tensor<float> g = full<float>({20000}, 1);
    g(place) = std::numeric_limits<float>::quiet_NaN();
    test::add_gradient(x, std::move(g));
    EXPECT_FALSE(is_finite_bits(global_norm(parameters))) << place;
  }
}

}  // namespace
}  // namespace xgrad

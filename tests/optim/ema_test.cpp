#include <xgrad/optim/ema.hpp>

#include <gtest/gtest.h>

#include <xgrad/autograd/check.hpp>
#include <xgrad/optim/row.hpp>

#include "golden.hpp"

namespace xgrad {
namespace {

TEST(Ema, RefusesForeignState) {
  Parameters<double> parameters(0);
  test::make_parameter(parameters, "a.x", {2}, test::constant(1));
  Ema<double> ema(parameters, 0.5);
  EXPECT_THROW(ema.set_state("ema.a.y", zeros<double>({2})), Error);
  EXPECT_THROW(ema.set_state("ema.a.x", zeros<double>({3})), ShapeError);
  ema.set_state("ema.a.x", full<double>({2}, 3));
  ema.update();
  EXPECT_EQ(ema.state()[0].tensor, full<double>({2}, 2));
}

TEST(Ema, ReachesEveryElementOfParametersOfManyBlocks) {
  Parameters<double> parameters(0);
  const std::vector<std::size_t> sizes = {10, 3 * detail::Row::kBlock + 5, 7};
  for (const std::size_t size : sizes) {
    test::make_parameter(parameters, "a.x" + std::to_string(size), {size}, test::constant(1));
  }
  Ema<double> ema(parameters, 0.75);
  for (const Parameter<double>& p : parameters) {
    Tensor<double>& x = p.variable.mutable_value();
    for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = double(i);
  }
  ema.update();
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const Tensor<double>& mean = ema.state()[k].tensor;
    ASSERT_EQ(mean.size(), sizes[k]);
    for (std::size_t i = 0; i < mean.size(); ++i) {
      ASSERT_EQ(mean.data()[i], 0.75 * 1 + 0.25 * double(i)) << k << ' ' << i;
    }
  }
}

}  // namespace
}  // namespace xgrad

#include <xgrad/optim/averaged_weights.hpp>

#include <gtest/gtest.h>

#include <xgrad/autograd/check.hpp>
#include <xgrad/optim/flat_parameters.hpp>

#include "golden.hpp"

namespace xgrad {
namespace {

TEST(AveragedWeights, RefusesForeignState) {
  Parameters<double> parameters(0);
  test::make_parameter(parameters, "a.x", {2}, test::constant(1));
  AveragedWeights<double> ema(parameters, "ema");
  EXPECT_THROW(ema.set_state("ema.a.y", zeros<double>({2})), Error);
  EXPECT_THROW(ema.set_state("ema.a.x", zeros<double>({3})), ShapeError);
  ema.set_state("ema.a.x", full<double>({2}, 3));
  ema.update(0.5);
  EXPECT_EQ(ema.state()[0].tensor, full<double>({2}, 2));
}

TEST(AveragedWeights, ReachesEveryElementOfParametersOfManyBlocks) {
  Parameters<double> parameters(0);
  const std::vector<std::size_t> sizes = {10, 3 * detail::FlatParameters::kBlock + 5, 7};
  for (const std::size_t size : sizes) {
    test::make_parameter(parameters, "a.x" + std::to_string(size), {size}, test::constant(1));
  }
  AveragedWeights<double> ema(parameters, "ema");
  for (const Parameter<double>& p : parameters) {
    Tensor<double>& x = p.variable.mutable_value();
    for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = double(i);
  }
  ema.update(0.25);
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const Tensor<double>& mean = ema.state()[k].tensor;
    ASSERT_EQ(mean.size(), sizes[k]);
    for (std::size_t i = 0; i < mean.size(); ++i) {
      ASSERT_EQ(mean.data()[i], 0.75 * 1 + 0.25 * double(i)) << k << ' ' << i;
    }
  }
}

TEST(AveragedWeights, AShareOfOneCopiesTheValuesExactly) {
  Parameters<double> parameters(0);
  test::make_parameter(parameters, "a.x", {1}, test::constant(1e17));
  AveragedWeights<double> average(parameters, "swa");
  parameters.at("a.x").mutable_value()(0) = 0.1;  // 1e17 + (0.1 - 1e17) is 0
  average.update(1);
  EXPECT_EQ(average.state()[0].tensor(0), 0.1);
  EXPECT_EQ(average.state()[0].name, "swa.a.x");
}

TEST(AveragedWeights, SharesOfOneNthMakeTheMean) {
  Parameters<double> parameters(0);
  test::make_parameter(parameters, "a.x", {1}, test::constant(5));
  AveragedWeights<double> average(parameters, "swa");
  const std::vector<double> values = {3, -8, 40, 1, 2};
  double sum = 0;
  for (std::size_t n = 0; n < values.size(); ++n) {
    parameters.at("a.x").mutable_value()(0) = values[n];
    average.update(1 / double(n + 1));
    sum += values[n];
    EXPECT_NEAR(average.state()[0].tensor(0), sum / double(n + 1), 1e-14);
  }
}

// Two objects, each with a part of the scalars, do together what one does.
TEST(AveragedWeights, PartsHaveTheirScalarsOnly) {
  constexpr std::size_t kBlock = detail::FlatParameters::kBlock;
  Parameters<double> parameters(0);
  test::make_parameter(parameters, "a.x", {kBlock / 2}, test::constant(1));
  test::make_parameter(parameters, "a.y", {2, kBlock}, test::constant(2));
  test::make_parameter(parameters, "a.z", {3}, test::constant(3));
  const std::size_t all = kBlock / 2 + 2 * kBlock + 3;
  AveragedWeights<double> whole(parameters, "ema");
  AveragedWeights<double> first(parameters, "ema", {{0, kBlock}});
  AveragedWeights<double> second(parameters, "ema", {{kBlock, all}});
  EXPECT_EQ(first.state()[1].tensor.size(), kBlock / 2);
  EXPECT_EQ(first.state()[2].tensor.size(), 0u);
  EXPECT_EQ(second.state()[0].tensor.size(), 0u);
  EXPECT_EQ(second.state()[1].first, kBlock / 2);
  EXPECT_EQ(second.state()[1].shape, (Shape{2, kBlock}));
  std::vector<std::vector<double>> values;
  for (const Parameter<double>& p : parameters) {
    Tensor<double>& x = p.variable.mutable_value();
    for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = double(i + 1);
    values.emplace_back(x.data(), x.data() + x.size());
  }
  Tensor<double> given = full<double>({2, kBlock}, 0);
  for (std::size_t i = 0; i < given.size(); ++i) given.data()[i] = double(i) / 2;
  for (AveragedWeights<double>* ema : {&whole, &first, &second}) {
    ema->set_state("ema.a.y", given);
    EXPECT_THROW(ema->set_state("ema.a.y", full<double>({kBlock / 2}, 0)), ShapeError);
    ema->update(0.25);
  }
  first.swap();
  second.swap();
  for (std::size_t k = 0; k < values.size(); ++k) {
    EXPECT_EQ((parameters.begin() + k)->variable.value(), whole.state()[k].tensor);
  }
  second.swap();
  first.swap();
  for (std::size_t k = 0; k < values.size(); ++k) {
    const Tensor<double>& x = (parameters.begin() + k)->variable.value();
    EXPECT_EQ(std::vector<double>(x.data(), x.data() + x.size()), values[k]);
  }
}

}  // namespace
}  // namespace xgrad

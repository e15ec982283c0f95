#include <xgrad/layers/module.hpp>

#include <gtest/gtest.h>

#include "support/tensors.hpp"

namespace xgrad {
namespace {

// The mask is a function of the step's stream and of the place in the model.
TEST(Context, S1_9_DropoutIsSeededAndTheIdentityInEvaluation) {
  const Variable<double> x(test::random_tensor({4, 50}, Rng(1)));
  const auto dropped = [&](bool training, std::uint64_t seed, std::uint64_t site) {
    const Context context{.training = training, .rng = Rng(seed)};
    return dropout(x, context.dropout(0.5, site)).value();
  };
  EXPECT_TRUE(test::same_bits(dropped(false, 2, 3), x.value()));
  const Tensor<double> y = dropped(true, 2, 3);
  EXPECT_TRUE(test::same_bits(dropped(true, 2, 3), y));
  EXPECT_FALSE(test::same_bits(dropped(true, 9, 3), y));
  EXPECT_FALSE(test::same_bits(dropped(true, 2, 9), y));
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_TRUE(y.data()[i] == 0 || y.data()[i] == 2 * x.value().data()[i]) << i;
  }
  EXPECT_FALSE(test::same_bits(y, x.value()));
}

}  // namespace
}  // namespace xgrad

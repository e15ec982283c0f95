#include <gtest/gtest.h>

#include <limits>

#include <xgrad/autograd/tensor.hpp>

#include "support/tensors.hpp"

namespace xgrad::test {

TEST(Element, TheFirstThatIsNotFinite) {
  for (const double bad :
       {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
        std::numeric_limits<double>::quiet_NaN()}) {
    Tensor<float> x = full<float>({3, 50}, std::numeric_limits<float>::max());
    EXPECT_FALSE(first_not_finite(x));
    x.data()[149] = float(bad);
    EXPECT_EQ(first_not_finite(x), 149u);
    x.data()[70] = float(bad);
    EXPECT_EQ(first_not_finite(x), 70u);
    EXPECT_EQ(first_not_finite(xgrad::cast<double>(x)), 70u);
  }
  EXPECT_FALSE(first_not_finite(empty<double>({0})));
}

TEST(Element, IsFiniteBitsSeesInfinityAndNan) {
  using Limits = std::numeric_limits<double>;
  for (const double x : {0.0, -0.0, 1.0, Limits::max(), Limits::lowest(), Limits::denorm_min()}) {
    EXPECT_TRUE(is_finite_bits(x)) << x;
  }
  for (const double x : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),
                         -Limits::quiet_NaN(), Limits::signaling_NaN()}) {
    EXPECT_FALSE(is_finite_bits(x)) << x;
  }
}

TEST(Element, IndicesInRowMajorOrder) {
  EXPECT_EQ(index_text({3, 50}, 70), "[1, 20]");
  EXPECT_EQ(index_text({}, 0), "[]");
}

}  // namespace xgrad::test

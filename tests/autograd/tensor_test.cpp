#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/tensor.hpp>

#include "support/gradients.hpp"

namespace xgrad::test {

TEST(Tensor, SaysItsShape) {
  EXPECT_EQ(to_string(Shape{}), "()");
  EXPECT_EQ(to_string(Shape{2}), "(2)");
  EXPECT_EQ(to_string(Shape{2, 0, 13}), "(2, 0, 13)");
  EXPECT_EQ(size_of({}), 1u);
  EXPECT_EQ(size_of({2, 3}), 6u);
  EXPECT_EQ(size_of({2, 0, 3}), 0u);
}

TEST(Tensor, IsMadeFilledAndCast) {
  EXPECT_TRUE(same_bits(full<double>({2, 2}, 3), tensor({2, 2}, {3, 3, 3, 3})));
  EXPECT_TRUE(same_bits(zeros<double>({3}), tensor({3}, {0, 0, 0})));
  EXPECT_TRUE(same_bits(xgrad::ones<double>({2, 1}), tensor({2, 1}, {1, 1})));
  EXPECT_EQ(zeros<float>({0, 4}).size(), 0u);
  EXPECT_EQ(full<float>({}, 2).data()[0], 2);
  const Tensor<float> narrow = cast<float>(tensor({3}, {0.1, -1e300, 2}));
  EXPECT_TRUE(
      same_bits(narrow, tensor<float>({3}, {0.1f, -std::numeric_limits<float>::infinity(), 2})));
}

template <class X>
std::string printed(const X& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

TEST(Tensor, IsPrintedAsXtensorDoes) {
  EXPECT_EQ(printed(tensor({2, 2}, {1, 2.5, -3, 4})), "{{ 1. ,  2.5},\n {-3. ,  4. }}");
  EXPECT_EQ(printed(tensor({2}, {1, std::numeric_limits<double>::quiet_NaN()})), "{ 1., nan}");
  EXPECT_EQ(printed(tensor({}, {7})), " 7.");
  EXPECT_EQ(printed(zeros<float>({0, 3})), "{}");
  EXPECT_EQ(printed(full<std::int32_t>({3}, 5)), "{5, 5, 5}");
  EXPECT_EQ(printed(full<std::uint8_t>({2}, 1)), "{1, 1}");
  const std::string large = printed(ones<double>({100, 100}));
  EXPECT_LT(large.size(), 400u);
  EXPECT_NE(large.find("..., "), large.npos);
}

TEST(Tensor, StandsOnCacheLines) {
  for (std::size_t n = 1; n < 200; n += 7) {
    const Tensor<float> x = empty<float>({n});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.data()) % 64, 0u);
  }
}

TEST(Tensor, AllocatorReportsWhatCannotBe) {
  EXPECT_THROW(detail::allocate(std::size_t(1) << 62), std::bad_alloc);
  detail::deallocate(detail::allocate(0), 0);
}

// Sizes in bytes, or numbers of elements, that wrap around to small ones.
TEST(Tensor, IsNotMadeOfMoreThanMemoryCanHold) {
  constexpr std::size_t one = 1;
  EXPECT_THROW(empty<float>({one << 62}), std::bad_alloc);
  EXPECT_THROW(empty<double>({one << 61, 1}), std::bad_alloc);
  EXPECT_TRUE(throws_with<ShapeError>(
      [] {
        empty<float>({one << 32, one << 32});
      },
      "shape (4294967296, 4294967296) has more elements than can be counted"));
  EXPECT_EQ(empty<float>({one << 40, one << 40, 0}).size(), 0u);
}

TEST(BroadcastShape, IsNumPys) {
  const auto expect = [](const Shape& a, const Shape& b, const Shape& result) {
    EXPECT_EQ(broadcast_shape("add", a, b), result) << to_string(a) << " " << to_string(b);
    EXPECT_EQ(broadcast_shape("add", b, a), result) << to_string(b) << " " << to_string(a);
  };
  expect({}, {}, {});
  expect({}, {2, 3}, {2, 3});
  expect({3}, {2, 3}, {2, 3});
  expect({2, 1}, {1, 3}, {2, 3});
  expect({2, 1}, {3}, {2, 3});
  expect({4, 1, 3}, {2, 1}, {4, 2, 3});
  expect({0}, {1}, {0});
  expect({2, 0}, {1, 1}, {2, 0});
}

TEST(BroadcastShape, SaysWhatDoesNotFit) {
  EXPECT_TRUE(throws_with<ShapeError>(
      [] {
        broadcast_shape("add", {2, 3}, {2});
      },
      "add: shapes do not broadcast: (2, 3) and (2)"));
  EXPECT_THROW(broadcast_shape("add", {0}, {2}), ShapeError);
}

TEST(Check, JoinsItsPartsIntoAMessage) {
  EXPECT_NO_THROW(check<DataError>(true, "never"));
  EXPECT_TRUE(throws_with<DataError>(
      [] {
        check<DataError>(false, "line ", 3, ": got ", 0.1, ", shape ", Shape{1, 2}, ", '",
                         std::string("x"), "', ", std::size_t(18446744073709551615u), ", ", -1);
      },
      "line 3: got 0.1, shape (1, 2), 'x', 18446744073709551615, -1"));
  EXPECT_TRUE(throws_with<Error>([] { check_shape(false, "any of ours"); }, "any of ours"));
}

}  // namespace xgrad::test

#include <gtest/gtest.h>

#include <cmath>

#include <xgrad/data/options.hpp>

namespace xgrad {
namespace {

TEST(OptionText, Literals) {
  EXPECT_EQ(to_literal(true), "true");
  EXPECT_EQ(to_literal(std::int64_t(-3)), "-3");
  EXPECT_EQ(to_literal(0.0), "0.0");
  EXPECT_EQ(to_literal(-2.0), "-2.0");
  EXPECT_EQ(to_literal(0.1), "0.1");
  EXPECT_EQ(to_literal(3e-4), "0.0003");
  EXPECT_EQ(to_literal(1e-5), "1e-05");
  EXPECT_EQ(to_literal(1e20), "1e+20");
  EXPECT_EQ(to_literal(std::nextafter(0.1, 1)), "0.10000000000000002");
  EXPECT_EQ(to_literal(5e-324), "5e-324");
  EXPECT_EQ(to_literal(std::string("a\"b\\c\n\x7fé")), "\"a\\\"b\\\\c\\u000A\\u007Fé\"");
}

TEST(OptionText, Ranges) {
  const auto of = [](double min, double max) { return range({"x", 0.5, "", min, max}); };
  EXPECT_EQ(of(-HUGE_VAL, HUGE_VAL), "");
  EXPECT_EQ(of(0, HUGE_VAL), "at least 0");
  EXPECT_EQ(of(above(0), HUGE_VAL), "above 0");
  EXPECT_EQ(of(-HUGE_VAL, 0.5), "at most 0.5");
  EXPECT_EQ(of(-HUGE_VAL, below(1)), "below 1");
  EXPECT_EQ(of(0, 1048576), "from 0 to 1048576");
  EXPECT_EQ(of(above(0), below(1)), "above 0 to below 1");
  EXPECT_EQ(range({"x", std::string("a"), "", 0, 0, {"a", "b"}}), "a, b");
}

TEST(OptionText, BoundsThatAreExcluded) {
  const OptionSpec spec{"x", 0.5, "", above(0), below(1)};
  EXPECT_EQ(problem(spec, 0.0), "is 0.0, must be above 0 to below 1");
  EXPECT_EQ(problem(spec, 1.0), "is 1.0, must be above 0 to below 1");
  EXPECT_EQ(problem(spec, std::int64_t(1)), "is 1, must be above 0 to below 1");
  EXPECT_EQ(problem(spec, 0.999999999999999), "");
  EXPECT_EQ(problem(spec, 1e-300), "");
}

}  // namespace
}  // namespace xgrad

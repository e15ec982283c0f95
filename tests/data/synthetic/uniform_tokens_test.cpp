// Inputs of random tokens: what their options mean and how they are distributed.
#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <cmath>
#include <map>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/task.hpp>

namespace xgrad {
namespace {

std::unique_ptr<Task> make(const std::string& name, const Options& options) {
  return find_task(name).make(options, 1);
}

class UniformTokens : public testing::TestWithParam<const char*> {};

TEST_P(UniformTokens, Shape) {
  const TaskShape shape = make(GetParam(), {{"length", 9}, {"symbols", 11}})->shape();
  EXPECT_EQ(shape.input, InputKind::tokens);
  EXPECT_EQ(shape.output, OutputKind::tokens);
  EXPECT_EQ(shape.vocabulary, 11);
  EXPECT_EQ(shape.classes, 11);
  EXPECT_EQ(shape.max_length, 9);
}

TEST_P(UniformTokens, OptionsThatCannotBeAreErrors) {
  EXPECT_THROW(make(GetParam(), {{"length", 0}}), ConfigError);
  EXPECT_THROW(make(GetParam(), {{"symbols", 0}}), ConfigError);
  EXPECT_THROW(make(GetParam(), {{"lenght", 4}}), ConfigError);
  EXPECT_THROW(make(GetParam(), {{"length", 4.0}}), ConfigError);
  EXPECT_THROW(make(GetParam(), {{"length", 4}, {"min_length", 5}}), ConfigError);
}

TEST_P(UniformTokens, TooFewInputsForThreeSplitsIsAnError) {
  const auto with = [&](int length, int min_length, int symbols) {
    return make(GetParam(), {{"length", length}, {"min_length", min_length}, {"symbols", symbols}});
  };
  try {
    with(3, 0, 9);
    FAIL() << "no exception";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), (std::string(GetParam()) +
                                ": there are only 729 different inputs; three disjoint splits need "
                                "1000: raise length or symbols")
                                   .c_str());
  }
  EXPECT_NO_THROW(with(3, 0, 10));
  EXPECT_THROW(with(9, 9, 2), ConfigError);    // 512
  EXPECT_NO_THROW(with(9, 1, 2));              // 1022
  EXPECT_THROW(with(999, 1, 1), ConfigError);  // one of each length
  EXPECT_NO_THROW(with(65536, 65536, 1 << 24));
}

TEST_P(UniformTokens, ErrorsOfALineNameTheToken) {
  const auto task = make(GetParam(), {{"length", 4}});
  const auto error_of = [&](const std::string& line) {
    return test::message_of<DataError>([&] { task->parse(line); });
  };
  const std::string name = GetParam();
  EXPECT_EQ(error_of("3 x"), name + ": token 2 is \"x\", must be a whole number from 0 to 9");
  EXPECT_EQ(error_of("10"), name + ": token 1 is \"10\", must be a whole number from 0 to 9");
  EXPECT_EQ(error_of("1 -1"), name + ": token 2 is \"-1\", must be a whole number from 0 to 9");
  EXPECT_EQ(error_of("1 2.5"), name + ": token 2 is \"2.5\", must be a whole number from 0 to 9");
  EXPECT_EQ(error_of("99999999999"),
            name + ": token 1 is \"99999999999\", must be a whole number from 0 to 9");
  EXPECT_EQ(error_of("1 2 3 4 5"), name + ": the line has 5 tokens, must have at most 4");
}

INSTANTIATE_TEST_SUITE_P(All, UniformTokens, testing::Values("copy", "reverse", "rotate", "sort"),
                         [](const auto& row) { return std::string(row.param); });

TEST(UniformTokensData, TokensAndLengthsAreUniform) {
  const auto task = make("copy", {{"length", 8}, {"min_length", 5}, {"symbols", 5}});
  const auto dataset = task->dataset(Split::train);
  std::map<std::size_t, double> lengths, tokens;
  double count = 0;
  for (std::size_t i = 0; i < 20000; ++i) {
    const Example example = dataset->get(0, i);
    lengths[example.ids.size()] += 1;
    for (std::int32_t id : example.ids) tokens[id] += 1, count += 1;
  }
  ASSERT_EQ(lengths.size(), 4);
  ASSERT_EQ(lengths.begin()->first, 5);
  ASSERT_EQ(tokens.size(), 5);
  // Five standard deviations of a binomial count.
  for (const auto& [length, n] : lengths) EXPECT_NEAR(n, 5000, 5 * 61.3) << "length " << length;
  for (const auto& [id, n] : tokens) EXPECT_NEAR(n / count, 0.2, 5 * 0.4 / std::sqrt(count)) << id;
}

}  // namespace
}  // namespace xgrad

#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <cmath>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/options.hpp>

namespace xgrad {
namespace {

const std::vector<OptionSpec> kTable = {
    {"length", 16, "Tokens.", 1, 100},
    {"rate", 0.5, "A rate.", 0, 1},
    {"augment", true, "Whether to."},
    {"kind", "plain", "Which.", {}, {}, {"plain", "fancy"}},
};

std::string error_of(const Options& given) {
  return test::message_of<ConfigError>([&] { complete(kTable, given); });
}

TEST(Options, CompleteAddsTheDefaults) {
  const Options options = complete(kTable, {{"length", 5}});
  EXPECT_EQ(options.size(), 4);
  EXPECT_EQ(get_int(options, "length"), 5);
  EXPECT_EQ(get_double(options, "rate"), 0.5);
  EXPECT_EQ(get_bool(options, "augment"), true);
  EXPECT_EQ(get_string(options, "kind"), "plain");
  EXPECT_EQ(complete(kTable, {}), defaults(kTable));
}

TEST(Options, AnIntegerWillDoForANumber) {
  EXPECT_EQ(get_double(complete(kTable, {{"rate", 1}}), "rate"), 1.0);
}

TEST(Options, EveryProblemIsListed) {
  EXPECT_EQ(error_of({{"length", 0}}), "length: is 0, must be from 1 to 100");
  EXPECT_EQ(error_of({{"length", 101}}), "length: is 101, must be from 1 to 100");
  EXPECT_EQ(error_of({{"length", 2.0}}), "length: is a number, 2.0, must be an integer");
  EXPECT_EQ(error_of({{"rate", std::nan("")}}), "rate: is nan, must be finite");
  EXPECT_EQ(error_of({{"kind", "fanc"}}),
            "kind: is \"fanc\", must be one of fancy, plain; did you mean \"fancy\"?");
  EXPECT_EQ(error_of({{"lenght", 3}}), "lenght: unknown option; did you mean length?");
  EXPECT_EQ(error_of({{"zzz", 3}}), "zzz: unknown option; there are length, rate, augment, kind");
  EXPECT_EQ(error_of({{"augment", "yes"}, {"rate", 2}}),
            "augment: is a string, \"yes\", must be a boolean\nrate: is 2, must be from 0 to 1");
}

TEST(Options, AMissingKeyOrAnotherTypeIsAnError) {
  const Options options = defaults(kTable);
  EXPECT_THROW(get_int(options, "width"), ConfigError);
  EXPECT_THROW(get_int(options, "rate"), ConfigError);
  EXPECT_THROW(get_double(options, "kind"), ConfigError);
  EXPECT_THROW(get_bool(options, "length"), ConfigError);
  EXPECT_THROW(get_string(options, "augment"), ConfigError);
}

}  // namespace
}  // namespace xgrad

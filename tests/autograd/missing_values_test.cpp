// A Variable without a value, in every place of every op.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>

#include "autograd/op_table.hpp"
#include "support/gradients.hpp"
#include "support/source_tree.hpp"

namespace xgrad::test {

namespace {

using Names = std::map<std::string, std::set<std::string>>;

// By op, the Variables that its declarations in ops.hpp ask for.
Names declared_arguments() {
  std::ifstream file(source_path("autograd/ops.hpp"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  static const std::regex function(R"re(\nVariable<T> (\w+)\(([^;]*)\);)re");
  static const std::regex argument(R"re(const (std::vector<)?Variable<T>>?& (\w+)( = \{\})?)re");
  Names result;
  for (std::sregex_iterator f(text.begin(), text.end(), function), end; f != end; ++f) {
    const std::string arguments = (*f)[2];
    for (std::sregex_iterator a(arguments.begin(), arguments.end(), argument); a != end; ++a) {
      const bool several = (*a)[1].matched, may_be_left_out = (*a)[3].matched;
      if (!may_be_left_out) result[(*f)[1]].insert(std::string((*a)[2]) + (several ? "[0]" : ""));
    }
  }
  return result;
}

// What the message of a ShapeError says: the op and its argument.
void note(const std::string& message, Names& named) {
  static const std::regex form(R"re((\w+): (\S+): expected a value, got a Variable without one)re");
  std::smatch match;
  ASSERT_TRUE(std::regex_match(message, match, form)) << message;
  named[match[1]].insert(match[2]);
}

}  // namespace

TEST(OpTable, AMissingValueIsNamed) {
  Names named;
  for (const OpCase& row : op_cases()) {
    const Sample sample = row.sample(Rng(1) / row.op, 3);
    std::vector<Variable<double>> all;
    for (const Tensor<double>& input : sample.inputs) all.emplace_back(input, true);
    for (std::size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE(row.op + " " + row.variant + ", input " + std::to_string(i));
      auto x = all;
      x[i] = {};
      try {
        sample.in_double(x);  // an argument that may be left out
      } catch (const ShapeError& error) {
        note(error.what(), named);
      }
    }
  }
  for (const auto& [op, arguments] : declared_arguments()) {
    for (const std::string& argument : arguments) {
      EXPECT_TRUE(named[op].contains(argument)) << op << " does not name " << argument;
    }
  }
  EXPECT_TRUE(named["linear"] == (std::set<std::string>{"x", "weight"})) << "bias may be left out";
}

// With p = 0 there is no op to run.
TEST(OpTable, AMissingValueIsNamedWithoutDropout) {
  const Variable<double> none, x = ones({2, 2});
  EXPECT_TRUE(throws_with<ShapeError>([&] { dropout(none, {}); }, "dropout: x: expected a value"));
  EXPECT_TRUE(throws_with<ShapeError>([&] { dropout_add(none, x, {}); },
                                      "dropout_add: x: expected a value"));
  EXPECT_TRUE(throws_with<ShapeError>([&] { dropout_add(x, none, {}); },
                                      "dropout_add: residual: expected a value"));
}

TEST(OpTable, AMissingPartIsNamedByItsPlace) {
  const Variable<double> none, x = ones({2, 2});
  EXPECT_TRUE(throws_with<ShapeError>(
      [&] {
        concat<double>({x, x, none}, 0);
      },
      "concat: parts[2]: expected a value"));
}

TEST(OpTable, ThereIsNothingToDifferentiateInAMissingValue) {
  EXPECT_TRUE(throws_with<GradientError>([] { Variable<double>().backward(); },
                                         "backward: this Variable has no value"));
}

}  // namespace xgrad::test

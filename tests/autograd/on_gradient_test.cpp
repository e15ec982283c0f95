#include <xgrad/autograd/op.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/recompute.hpp>

#include "support/tensors.hpp"

namespace xgrad::test {

namespace {

using Double = Variable<double>;

struct Leaves {
  Double a{tensor({2}, {2, 3}), true}, b{tensor({2}, {5, 7}), true}, c{tensor({2}, {11, 13}), true};

  std::string name_of(const Node<double>& node) const {
    return &node == a.node().get() ? "a" : &node == b.node().get() ? "b" : "c";
  }
};

// Calls of backward(), and the gradients at that moment.
struct Calls {
  std::string names;
  std::map<std::string, Tensor<double>> gradients;
};

Calls calls_of(const Leaves& x, const Double& y) {
  Calls calls;
  const OnGradient<double> on_gradient([&](const Node<double>& leaf) {
    calls.names += x.name_of(leaf);
    calls.gradients[x.name_of(leaf)] = leaf.grad;
  });
  y.backward();
  return calls;
}

}  // namespace

// y = sum((a b + a) c + b): op by op from the end, b is complete only after the product a b.
TEST(OnGradient, ComesAfterTheLastUseOfALeaf) {
  const Leaves x;
  const Double inner = add(mul(x.a, x.b), x.a);
  const Calls calls = calls_of(x, sum(add(mul(inner, x.c), x.b)));
  EXPECT_EQ(calls.names.substr(0, 1), "c");
  EXPECT_EQ(calls.names.size(), 3u);
  EXPECT_EQ(calls.gradients.at("a"), tensor({2}, {6 * 11, 8 * 13}));          // (b + 1) c
  EXPECT_EQ(calls.gradients.at("b"), tensor({2}, {2 * 11 + 1, 3 * 13 + 1}));  // a c + 1
  EXPECT_EQ(calls.gradients.at("c"), tensor({2}, {2 * 5 + 2, 3 * 7 + 3}));    // a b + a
}

// The function reads b, whose gradient comes out of the second run.
TEST(OnGradient, CountsWhatARecomputedFunctionReads) {
  const Leaves x;
  const Double inner =
      recompute<double>([&](const Double& in) { return mul(mul(in, x.b), x.b); }, x.a);
  const Calls calls = calls_of(x, sum(mul(inner, x.c)));
  EXPECT_EQ(calls.names.substr(0, 1), "c");
  EXPECT_EQ(calls.names.size(), 3u);
  EXPECT_EQ(calls.gradients.at("a"), tensor({2}, {25 * 11, 49 * 13}));                // b^2 c
  EXPECT_EQ(calls.gradients.at("b"), tensor({2}, {2 * 2 * 5 * 11, 2 * 3 * 7 * 13}));  // 2 a b c
}

// The newest first. The second round's leaves have the addresses of the first round's, in another
// order.
TEST(OnGradient, CallsInAnOrderThatDependsOnTheGraphAlone) {
  for (int round = 0; round < 2; ++round) {
    std::vector<Double> leaves;
    for (int i = 0; i < 7; ++i) leaves.emplace_back(tensor({1}, {1}), true);
    const Double y = recompute<double>(
        [&](const Double& in) {
          Double sum = in;
          for (const Double& leaf : leaves) sum = add(sum, leaf);
          return sum;
        },
        leaves[3]);
    std::vector<std::uint64_t> ids;
    const OnGradient<double> on_gradient([&](const Node<double>& leaf) {
      if (leaf.id != leaves[3].node()->id) ids.push_back(leaf.id);
    });
    y.backward();
    EXPECT_EQ(ids.size(), 6u);
    EXPECT_TRUE(std::is_sorted(ids.rbegin(), ids.rend())) << "round " << round;
    for (Double& leaf : leaves) leaf = Double();
  }
}

TEST(OnGradient, EndsWithTheObject) {
  const Leaves x;
  EXPECT_EQ(calls_of(x, sum(x.a)).names, "a");
  EXPECT_EQ(OnGradient<double>::current(), nullptr);
  sum(x.a).backward();
}

}  // namespace xgrad::test

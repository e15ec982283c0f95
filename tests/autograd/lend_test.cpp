#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include <xgrad/autograd/lend.hpp>
#include <xgrad/autograd/memory/counters.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/ops.hpp>

#include "support/gradients.hpp"

namespace xgrad::test {

namespace {

// Says when its owner is released.
std::shared_ptr<const void> owner(bool& released) {
  return {&released, [](bool* flag) { *flag = true; }};
}

// The bytes of a tensor.
template <class T>
std::vector<char> bytes_of(const Tensor<T>& x) {
  const auto* first = reinterpret_cast<const char*>(x.data());
  return {first, first + x.size() * sizeof(T)};
}

TEST(Lend, SharesTheMemoryUntilTheLastUser) {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{2, 3}, Shape{300, 400}}) {
    std::vector<float> memory(size_of(shape), 2.5f);
    bool released = false;
    {
      Variable<float> y;
      {
        const Variable<float> x(lend<float>(memory.data(), shape, owner(released)), nullptr);
        EXPECT_EQ(x.value().data(), memory.data());
        EXPECT_EQ(x.shape(), shape);
        memory.back() = 4;
        y = x.detach();
      }
      EXPECT_FALSE(released);
      EXPECT_EQ(y.value().data()[y.value().size() - 1], 4);
    }
    EXPECT_TRUE(released);
    EXPECT_EQ(memory.back(), 4);
  }
}

TEST(Lend, CountsNoMemory) {
  std::vector<double> memory(100000, 1);
  bool released = false;
  const Counters counters;
  const auto value = lend<double>(memory.data(), {100000}, owner(released));
  EXPECT_LT(counters.peak_bytes(), 1000);
}

TEST(Lend, AnEmptyValueSharesNothing) {
  bool released = false;
  const auto value = lend<float>(nullptr, {0, 3}, owner(released));
  EXPECT_TRUE(released);
  EXPECT_EQ(value->size(), 0);
}

// Results and gradients of ops on the inputs, which begin at each offset from an aligned address.
template <class T>
std::vector<std::vector<char>> results(const std::vector<Tensor<T>>& inputs, std::size_t offset) {
  std::vector<Variable<T>> x;
  for (const Tensor<T>& input : inputs) {
    const auto memory = std::make_shared<Tensor<T>>(empty<T>({input.size() + 16}));
    std::copy_n(input.data(), input.size(), memory->data() + offset);
    auto leaf = std::make_shared<Node<T>>("leaf", input.shape());
    x.emplace_back(lend<T>(memory->data() + offset, input.shape(), memory), std::move(leaf));
  }
  const Variable<T> y = layer_norm(gelu(linear(x[0], x[1], x[2])), x[2], x[2]);
  const Variable<T> z = attention<T>(y, y, y, {.heads = 1});
  const Variable<T> loss = mean(mul(softmax(z), exp(z)));
  loss.backward();
  std::vector<std::vector<char>> found{bytes_of(loss.value())};
  for (const Variable<T>& leaf : x) found.push_back(bytes_of(leaf.grad()));
  return found;
}

template <class T>
void expect_same_bits_at_any_address() {
  const std::vector<Tensor<T>> inputs{cast<T>(random_tensor({3, 37, 41}, Rng(1))),
                                      cast<T>(random_tensor({29, 41}, Rng(2))),
                                      cast<T>(random_tensor({29}, Rng(3)))};
  const auto aligned = results<T>(inputs, 0);
  for (std::size_t offset = 1; offset < 16; ++offset)
    EXPECT_EQ(results<T>(inputs, offset), aligned);
}

TEST(Lend, TheBitsDoNotDependOnTheAddress) {
  expect_same_bits_at_any_address<float>();
  expect_same_bits_at_any_address<double>();
}

}  // namespace

}  // namespace xgrad::test

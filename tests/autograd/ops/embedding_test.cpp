#include <gtest/gtest.h>

#include <xgrad/autograd/ops.hpp>

#include "support/gradients.hpp"
#include "support/tensors.hpp"

namespace xgrad::test {

TEST(Embedding, S4_2_IsTheProductWithOneHot) {
  const Ids ids = tensor<std::int32_t>({2, 3}, {3, 0, 3, 1, 3, 0});
  Tensor<double> one_hot = zeros<double>({2, 3, 4});
  for (std::size_t i = 0; i < ids.size(); ++i)
    one_hot.data()[i * 4 + std::size_t(ids.data()[i])] = 1;
  const auto w = random_tensor({4, 5}, Rng(1));
  const auto dy = random_tensor({2, 3, 5}, Rng(2));

  const Variable<double> a(w, true), b(w, true);
  const auto y = embedding(a, ids);
  const auto z = matmul(Variable<double>(one_hot), b);
  EXPECT_TENSOR_NEAR(y.value(), z.value(), 0);
  y.backward(dy);
  z.backward(dy);
  EXPECT_TENSOR_NEAR(a.grad(), b.grad(), 1e-15);
}

TEST(Embedding, S4_2_DuplicatesAccumulate) {
  const Variable<float> w(zeros<float>({3, 2}), true);
  const Ids ids = tensor<std::int32_t>({4}, {2, 2, 0, 2});
  embedding(w, ids).backward(tensor<float>({4, 2}, {1, 10, 2, 20, 3, 30, 4, 40}));
  EXPECT_TRUE(same_bits(w.grad(), tensor<float>({3, 2}, {3, 30, 0, 0, 7, 70})));
}

// A second use adds to the gradient of the first.
TEST(Embedding, AddsToAnEarlierGradient) {
  const Variable<float> w(zeros<float>({2, 1}), true);
  const Ids ids = tensor<std::int32_t>({2}, {1, 1});
  add(embedding(w, ids), embedding(w, ids)).backward(full<float>({2, 1}, 1));
  embedding(w, ids).backward(full<float>({2, 1}, 1));
  EXPECT_TRUE(same_bits(w.grad(), tensor<float>({2, 1}, {0, 6})));
}

TEST(Embedding, ScalarAndEmptyIds) {
  const Variable<float> w(tensor<float>({2, 2}, {1, 2, 3, 4}), true);
  EXPECT_TRUE(
      same_bits(embedding(w, full<std::int32_t>({}, 1)).value(), tensor<float>({2}, {3, 4})));
  const auto y = embedding(w, empty<std::int32_t>({0, 3}));
  EXPECT_EQ(y.shape(), (Shape{0, 3, 2}));
  y.backward(zeros<float>({0, 3, 2}));
  EXPECT_TRUE(same_bits(w.grad(), zeros<float>({2, 2})));
}

TEST(Embedding, NamesTheIdAndItsPlace) {
  const Variable<float> w(zeros<float>({4, 2}));
  Ids ids = full<std::int32_t>({2, 3}, 0);
  ids(1, 2) = 4;
  EXPECT_TRUE(throws_with<ShapeError>([&] { embedding(w, ids); },
                                      "embedding: id 4 at [1, 2]: expected an id in [0, 4)"));
  ids(0, 1) = -1;
  EXPECT_TRUE(throws_with<ShapeError>([&] { embedding(w, ids); }, "embedding: id -1 at [0, 1]"));
  EXPECT_TRUE(throws_with<ShapeError>([&] { embedding(Variable<float>(zeros<float>({4})), ids); },
                                      "embedding: weight: expected (V, D), got (4)"));
}

}  // namespace xgrad::test

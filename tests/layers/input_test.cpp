// Inputs of a model other than token ids and images.
#include <gtest/gtest.h>

#include <xgrad/layers/embedding.hpp>

#include "support/gradients.hpp"

namespace xgrad {
namespace {

using test::random_tensor;

InputOptions options() {
  return {.max_length = 4, .features = 5, .positions = PositionKind::none};
}

// S4.2: embedding(i) == one_hot(i) W, and the gradient adds up over equal ids.
TEST(Input, S4_2_AOneHotVectorPicksARowAsAnEmbeddingDoes) {
  InputOptions looked_up = options(), multiplied = options();
  looked_up.vocabulary = multiplied.vocabulary = 6;
  multiplied.one_hot = true;
  Parameters<double> a(1), b(1);
  const InputEmbedding<double> embedding(a.root() / "embedding", looked_up),
      one_hot(b.root() / "embedding", multiplied);
  const Variable<double> table = a.at("embedding.token.weight"),
                         weight = b.at("embedding.one_hot.weight");
  for (std::size_t v = 0; v < 6; ++v) {
    for (std::size_t d = 0; d < 5; ++d) weight.mutable_value()(d, v) = table.value()(v, d);
  }
  b.at("embedding.one_hot.bias").mutable_value() = zeros<double>({5});
  const Ids ids = test::tensor<std::int32_t>({2, 4}, {3, 0, 3, 5, 3, 1, 1, 0});
  const auto x = embedding({&ids}), y = one_hot({&ids});
  EXPECT_TENSOR_NEAR(y.value(), x.value(), 1e-15);
  const Tensor<double> dy = random_tensor(x.shape(), Rng(2));
  x.backward(dy);
  y.backward(dy);
  for (std::size_t v = 0; v < 6; ++v) {
    for (std::size_t d = 0; d < 5; ++d) {
      EXPECT_NEAR(weight.grad()(d, v), table.grad()(v, d), 1e-15) << v << " " << d;
    }
  }
  for (std::size_t d = 0; d < 5; ++d) {
    EXPECT_EQ(table.grad()(2, d), 0);  // an id that does not occur
    EXPECT_NEAR(table.grad()(3, d), dy(0, 0, d) + dy(0, 2, d) + dy(1, 0, d), 1e-15);
  }
}

TEST(Input, ANormComesLast) {
  InputOptions plain = options();
  plain.vocabulary = 6;
  plain.class_token = true;
  plain.positions = PositionKind::learned;
  InputOptions normed = plain;
  normed.norm = NormOptions{.eps = 1e-3};
  Parameters<double> a(1), b(1);
  const InputEmbedding<double> sum(a.root() / "embedding", plain),
      embedding(b.root() / "embedding", normed);
  EXPECT_EQ(b.count(), a.count() + 2 * 5);
  for (const char* name : {"weight", "bias"}) {
    b.at("embedding.norm." + std::string(name)).mutable_value() = random_tensor({5}, Rng(name[0]));
  }
  const Ids ids = test::tensor<std::int32_t>({2, 4}, {3, 0, 3, 5, 3, 1, 1, 0});
  const auto y =
      layer_norm(sum({&ids}), b.at("embedding.norm.weight"), b.at("embedding.norm.bias"), 1e-3);
  EXPECT_TENSOR_NEAR(embedding({&ids}).value(), y.value(), 1e-15);
}

TEST(Input, OneHotNamesAnIdThatDoesNotExist) {
  EXPECT_EQ(one_hot<double>(Ids{{1, 0}}, 2), (Tensor<double>{{{0, 1}, {1, 0}}}));
  EXPECT_TRUE(test::throws_with<ShapeError>(
      [] {
        one_hot<double>(Ids{{1, 2}}, 2);
      },
      "one_hot: id 2: expected an id in [0, 2)"));
}

// S2.15, S4.3: x E^T + b for each frame.
TEST(Input, S2_15_S4_3_VectorsGoThroughALinearMap) {
  InputOptions o = options();
  o.vector = 3;
  o.class_token = true;
  o.positions = PositionKind::learned;
  Parameters<double> parameters(1);
  const InputEmbedding<double> embedding(parameters.root() / "embedding", o);
  EXPECT_EQ(parameters.at("embedding.position.weight").shape(), (Shape{5, 5}));
  const Tensor<double> x = random_tensor({2, 4, 3}, Rng(3));
  const Tensor<double> y = embedding({nullptr, &x}).value();
  ASSERT_EQ(y.shape(), (Shape{2, 5, 5}));
  const Tensor<double>& weight = parameters.at("embedding.vector.weight").value();
  const Tensor<double>& bias = parameters.at("embedding.vector.bias").value();
  const Tensor<double>& place = parameters.at("embedding.position.weight").value();
  for (std::size_t n = 0; n < 4; ++n) {
    for (std::size_t d = 0; d < 5; ++d) {
      double sum = bias(d) + place(n + 1, d);
      for (std::size_t f = 0; f < 3; ++f) sum += x(1, n, f) * weight(d, f);
      EXPECT_NEAR(y(1, n + 1, d), sum, 1e-15);
    }
  }
  EXPECT_TRUE(test::throws_with<ShapeError>([&] { embedding({}); }, "model: expected vectors"));
}

TEST(Input, AnEmbeddingOfNothingIsRefused) {
  Parameters<float> parameters(1);
  EXPECT_TRUE(test::throws_with<ConfigError>(
      [&] { Embedding<float>(parameters.root() / "embedding", 0, 4); },
      "embedding: an embedding needs token ids"));
}

}  // namespace
}  // namespace xgrad

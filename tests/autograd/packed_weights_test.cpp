// linear() and linear_gelu() with packed weights, beside the same weights that are not packed.
#include <xgrad/autograd/parameters.hpp>

#include <gtest/gtest.h>

#include <thread>

#include <xgrad/autograd/autocast.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parallel.hpp>

#include "support/tensors.hpp"

namespace xgrad::test {
namespace {

// Two layers, of more columns than are packed together.
template <class T>
struct Layers {
  Layers()
      : wide((parameters.root() / "layers").parameter("wide", {500, 67}, uniform)),
        narrow((parameters.root() / "layers").parameter("narrow", {3, 500}, uniform)) {}

  Tensor<T> operator()(const Tensor<T>& x) const {
    const NoGrad no_grad;
    const Variable<T> bias(full<T>({500}, T(0.25)));
    return linear(linear_gelu(Variable<T>(x), wide, bias, Gelu::exact, {}), narrow, {}).value();
  }

  static void uniform(std::span<double> values, const Shape&, const Rng& rng) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 2 * rng.uniform(i) - 1;
  }

  Parameters<T> parameters{7};
  Variable<T> wide, narrow;
};

template <class T>
class PackedWeights : public testing::Test {};
using Scalars = testing::Types<float, double, long double>;
TYPED_TEST_SUITE(PackedWeights, Scalars);

TYPED_TEST(PackedWeights, AreNotReadForAValueOfAnotherShape) {
  const NoGrad no_grad;
  const Layers<TypeParam> layers;
  Tensor<TypeParam>& kept = layers.narrow.mutable_value();
  pack_weights(layers.parameters);
  const Variable<TypeParam> x(random_tensor<TypeParam>({2, 500}, Rng(1)));
  linear(x, layers.narrow, {});
  kept = random_tensor<TypeParam>({700, 500}, Rng(2));
  EXPECT_TRUE(same_bits(linear(x, layers.narrow, {}).value(),
                        linear(x, Variable<TypeParam>(kept), {}).value()));
}

TYPED_TEST(PackedWeights, GiveTheSameBits) {
  const Layers<TypeParam> plain, packed;
  pack_weights(packed.parameters);
  const int before = threads();
  for (const int count : {1, 3}) {
    set_threads(count);
    for (const std::size_t rows : {1, 2, 33, 64, 300}) {
      const auto x = random_tensor<TypeParam>({rows, 67}, Rng(rows));
      const Tensor<TypeParam> expected = plain(x);
      EXPECT_TRUE(same_bits(packed(x), expected)) << rows;
      EXPECT_TRUE(same_bits(packed(x), expected)) << rows << ", again";
      const Autocast products;
      EXPECT_TRUE(same_bits(packed(x), plain(x))) << rows << ", bfloat16";
    }
  }
  set_threads(before);
}

TYPED_TEST(PackedWeights, AreNotReadAfterAChange) {
  const Layers<TypeParam> plain, packed;
  pack_weights(packed.parameters);
  const auto x = random_tensor<TypeParam>({5, 67}, Rng(1));
  const Tensor<TypeParam> before = packed(x);
  plain.wide.mutable_value().data()[3] = packed.wide.mutable_value().data()[3] = 5;
  EXPECT_FALSE(same_bits(packed(x), before));
  EXPECT_TRUE(same_bits(packed(x), plain(x)));
  pack_weights(packed.parameters);
  EXPECT_TRUE(same_bits(packed(x), plain(x)));
}

TYPED_TEST(PackedWeights, CanBeReadByManyThreadsAtOnce) {
  const Layers<TypeParam> plain, packed;
  pack_weights(packed.parameters);
  const auto x = random_tensor<TypeParam>({9, 67}, Rng(2));
  std::vector<Tensor<TypeParam>> results(8);
  std::vector<std::thread> readers;
  for (Tensor<TypeParam>& result : results) {
    readers.emplace_back([&result, &packed, &x] { result = packed(x); });
  }
  for (std::thread& reader : readers) reader.join();
  for (const Tensor<TypeParam>& result : results) EXPECT_TRUE(same_bits(result, plain(x)));
}

TYPED_TEST(PackedWeights, HaveTheSameGradients) {
  const Layers<TypeParam> plain, packed;
  pack_weights(packed.parameters);
  const auto x = random_tensor<TypeParam>({5, 67}, Rng(3));
  for (const Layers<TypeParam>* layers : {&plain, &packed}) {
    const auto hidden = linear(Variable<TypeParam>(x), layers->wide, {});
    linear(hidden, layers->narrow, {}).backward(full<TypeParam>({5, 3}, 1));
  }
  EXPECT_TRUE(same_bits(packed.wide.grad(), plain.wide.grad()));
  EXPECT_TRUE(same_bits(packed.narrow.grad(), plain.narrow.grad()));
}

}  // namespace
}  // namespace xgrad::test

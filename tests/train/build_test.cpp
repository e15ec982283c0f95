#include <xgrad/train/build.hpp>

#include <gtest/gtest.h>

#include <xgrad/train/config_keys.hpp>

#include "support/tensors.hpp"

namespace xgrad {
namespace {

// Logits of the model of this config, in evaluation, with no parameter where it started.
Tensor<double> logits(const Config& config) {
  const TaskShape shape{
      .output = OutputKind::sequence, .vocabulary = 5, .max_length = 4, .classes = 3};
  Parameters<double> parameters(1);
  const auto model = make_model<double>(config.model, shape, parameters);
  for (const Parameter<double>& p : parameters) {
    p.variable.mutable_value() +=
        test::random_tensor(p.variable.shape(), Rng(2) / p.name, -0.5, 0.5);
  }
  const Ids ids = test::random_ids({2, 4}, Rng(3), 5);
  return (*model)({&ids, nullptr, nullptr}, {}).value();
}

// Each word that the table of keys allows makes a model, and not the model of another word.
TEST(Build, EveryWordOfEveryModelKeyIsAModelOfItsOwn) {
  int words = 0;
  for (const detail::ConfigKey& key : detail::config_keys()) {
    if (key.section != "model") continue;
    std::vector<Tensor<double>> seen;
    for (const std::string& word : key.spec.choices) {
      Config config;
      key.set(config, word);
      const Tensor<double> y = logits(config);
      for (const Tensor<double>& other : seen) {
        EXPECT_FALSE(test::tensors_near(y, other, 1e-7)) << key.name() << " = " << word;
      }
      seen.push_back(y);
      ++words;
    }
  }
  EXPECT_GE(words, 16);
}

}  // namespace
}  // namespace xgrad

// C5: a checkpoint fits a model entirely, or the model stays as it is and every misfit is named.
#include <gtest/gtest.h>
#include <support/checkpoints.hpp>
#include <support/errors.hpp>
#include <support/temporary_directory.hpp>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/ops.hpp>
#include <xgrad/optim/optimizers.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>

namespace xgrad {
namespace {

using test::difference;
using test::message_of;

/// Parameters of a small model, and Adam for them.
template <class T>
struct Model {
  explicit Model(std::uint64_t seed) : parameters(seed) {
    const Initializer uniform = [](std::span<double> values, const Shape&, const Rng& rng) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = rng.uniform(i);
    };
    const Scope<T> layer = parameters.root() / "layers" / std::size_t{0};
    layer.parameter("weight", {2, 3}, uniform);
    layer.parameter("bias", {2}, uniform);
    (parameters.root() / "head").parameter("weight", {1, 2}, uniform);
    optimizer = make_optimizer<T>("adam", parameters, {});
    for (const Parameter<T>& p : parameters) {
      sum(mul(p.variable, p.variable)).backward();
    }
    optimizer->step(0.1);
  }

  Checkpoint checkpoint() const {
    Checkpoint c;
    c.step = 5;
    c.parameters = capture(parameters);
    for (const auto& s : optimizer->state()) c.optimizer.push_back({s.name, s.tensor});
    return c;
  }

  Parameters<T> parameters;
  std::unique_ptr<Optimizer<T>> optimizer;
};

template <class T>
class StateDict : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(StateDict, Scalars);

TYPED_TEST(StateDict, SavesAndLoadsTheParametersInAFile) {
  const test::TemporaryDirectory directory;
  const std::string path = directory / "model.h5";
  const Model<TypeParam> first(1), saved(3);
  save_checkpoint(path, first.parameters);
  save_checkpoint(path, saved.parameters);  // over the first
  const Model<TypeParam> model(2);
  load_checkpoint(path, model.parameters);
  for (const auto& p : model.parameters) {
    EXPECT_EQ(p.value(), saved.parameters.at(p.name).value()) << p.name;
  }
  Parameters<TypeParam> other(1);
  EXPECT_THROW(load_checkpoint(path, other), CheckpointError);
  EXPECT_THROW(save_checkpoint("/absent/model.h5", other), IoError);
}

TYPED_TEST(StateDict, RestoresEveryBit) {
  const Model<TypeParam> saved(1);
  Model<TypeParam> model(2);
  ASSERT_NE(difference(saved.checkpoint(), model.checkpoint()), "");
  const Checkpoint checkpoint = from_hdf5(to_hdf5(saved.checkpoint()), "memory");
  restore(checkpoint, model.parameters, *model.optimizer);
  EXPECT_EQ(difference(saved.checkpoint(), model.checkpoint()), "");
}

// Such a checkpoint would fit no model.
TYPED_TEST(StateDict, DoesNotCaptureAValueOfAnotherShape) {
  for (const bool frozen : {false, true}) {
    Parameters<TypeParam> parameters(1);
    parameters.freeze([&](const std::string&) { return frozen; });
    const Initializer none = [](std::span<double>, const Shape&, const Rng&) {};
    const auto weight = (parameters.root() / "layer").parameter("weight", {2, 3}, none);
    const std::vector<NamedTensor> whole = capture(parameters);
    weight.mutable_value() = ones<TypeParam>({1});
    EXPECT_EQ(message_of<ShapeError>([&] { capture(parameters); }).substr(0, 37),
              "layer.weight: expected shape (2, 3), ");
    EXPECT_THROW(restore_weights(whole, "a.h5", parameters), ShapeError);
  }
}

TYPED_TEST(StateDict, RestoresWeightsAlone) {
  const Model<TypeParam> saved(1);
  Model<TypeParam> model(2);
  Checkpoint expected = model.checkpoint();
  expected.parameters = saved.checkpoint().parameters;
  restore_weights(saved.checkpoint().parameters, "a.h5", model.parameters);
  EXPECT_EQ(difference(expected, model.checkpoint()), "");
}

TEST(StateDict, OrderDoesNotMatter) {
  const Model<float> saved(1);
  Model<float> model(2);
  Checkpoint checkpoint = saved.checkpoint();
  std::reverse(checkpoint.parameters.begin(), checkpoint.parameters.end());
  restore(checkpoint, model.parameters, *model.optimizer);
  EXPECT_EQ(difference(saved.checkpoint(), model.checkpoint()), "");
}

/// Returns the error of restore() for a changed checkpoint, and expects an unchanged model.
template <class Change>
std::string refusal(Change change) {
  Checkpoint checkpoint = Model<float>(1).checkpoint();
  change(checkpoint);
  Model<float> model(2);
  const Checkpoint before = model.checkpoint();
  const std::string message =
      message_of<CheckpointError>([&] { restore(checkpoint, model.parameters, *model.optimizer); });
  EXPECT_EQ(difference(before, model.checkpoint()), "");
  const std::string start = "checkpoint of step 5 does not fit the model:";
  return message.starts_with(start) ? message.substr(start.size()) : message;
}

AnyTensor ones(const Shape& shape) {
  return full<float>(shape, 1);
}

TEST(StateDict, C5_MissingAndUnexpected) {
  EXPECT_EQ(refusal([](Checkpoint& c) { c.parameters.erase(c.parameters.begin() + 1); }),
            "\n  missing parameter layers.0.bias");
  EXPECT_EQ(refusal([](Checkpoint& c) {
              c.parameters.push_back({"head.bias", ones({1})});
            }),
            "\n  unexpected parameter head.bias");
  EXPECT_EQ(refusal([](Checkpoint& c) { c.parameters[0].name = "layers.1.weight"; }),
            "\n  missing parameter layers.0.weight\n  unexpected parameter layers.1.weight");
  EXPECT_EQ(refusal([](Checkpoint& c) { c.optimizer.pop_back(); }),
            "\n  missing optimizer state exp_avg_sq.head.weight");
  EXPECT_EQ(refusal([](Checkpoint& c) {
              c.optimizer.push_back({"momentum.a.b", ones({1})});
            }),
            "\n  unexpected optimizer state momentum.a.b");
  EXPECT_EQ(refusal([](Checkpoint& c) {
              c.parameters.push_back({"head.weight", ones({1})});
            }),
            "\n  repeated parameter head.weight");
}

TEST(StateDict, C5_WrongShapes) {
  const auto with = [](const Shape& shape) {
    return refusal([&](Checkpoint& c) { c.parameters[0].tensor = ones(shape); });
  };
  for (const Shape& shape :
       {Shape{3, 2}, Shape{6}, Shape{}, Shape{2, 3, 1}, Shape{1, 2, 3}, Shape{2, 0}}) {
    EXPECT_EQ(with(shape), "\n  shape differs: parameter layers.0.weight: the checkpoint has " +
                               to_string(shape) + ", the model (2, 3)");
  }
}

TEST(StateDict, C5_WrongScalarType) {
  EXPECT_EQ(refusal([](Checkpoint& c) { c.parameters[1].tensor = full<double>({2}, 1); }),
            "\n  scalar type differs: parameter layers.0.bias: the checkpoint has float64, the "
            "model float32");
}

TEST(StateDict, C5_AllMisfitsAreListedAtOnce) {
  EXPECT_EQ(
      refusal([](Checkpoint& c) {
        c.parameters[0].tensor = ones({3, 2});
        c.parameters[1].tensor = full<double>({2}, 1);
        c.parameters[2].name = "tail.weight";
        c.optimizer[0].tensor = ones({1});
      }),
      "\n  shape differs: parameter layers.0.weight: the checkpoint has (3, 2), the model (2, 3)"
      "\n  scalar type differs: parameter layers.0.bias: the checkpoint has float64, the model "
      "float32"
      "\n  missing parameter head.weight"
      "\n  unexpected parameter tail.weight"
      "\n  shape differs: optimizer state exp_avg.layers.0.weight: the checkpoint has (1), the "
      "model (2, 3)");
}

TEST(StateDict, C5_SlotsThatSwapTheirShapesAreRefused) {
  const std::string message =
      refusal([](Checkpoint& c) { std::swap(c.optimizer[0].name, c.optimizer[1].name); });
  EXPECT_NE(message.find("exp_avg.layers.0.weight"), std::string::npos);
  EXPECT_NE(message.find("exp_avg.layers.0.bias"), std::string::npos);
}

}  // namespace
}  // namespace xgrad

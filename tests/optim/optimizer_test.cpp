#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <cmath>
#include <limits>
#include <memory>

#include <xgrad/autograd/parallel.hpp>
#include <xgrad/optim/optimizers.hpp>

#include "golden.hpp"

namespace xgrad {
namespace {

using test::add_gradient;
using test::make_parameter;

// f(x) = x^2 / 2 from x = 1.
TEST(Adam, GoldenOnAParabola) {
  Parameters<double> parameters(0);
  const auto x = make_parameter(parameters, "a.x", Shape{}, test::constant(1));
  const auto adam = make_optimizer("adam", parameters, {});
  for (const double expected : {0.9000000009999999, 0.8004122297123379, 0.7015862745044147}) {
    parameters.zero_grad();
    add_gradient(x, x.value());
    adam->step(0.1);
    EXPECT_NEAR(x.value()(), expected, 1e-15);
  }
}

// Without gradients the means decay to zero, not to numbers with which processors are slow.
TEST(Optimizers, MeansLeaveNoSubnormalNumbers) {
  for (const char* name : {"adam", "adamw", "lion", "rmsprop"}) {
    Parameters<float> parameters(0);
    const auto x = make_parameter(parameters, "a.x", {3}, test::constant(1));
    const auto optimizer = make_optimizer(name, parameters, {.betas = {0.5, 0.5}, .alpha = 0.5});
    bool was_smallest = false;
    for (int step = 0; step < 200; ++step) {
      parameters.zero_grad();
      add_gradient(x, full<float>({3}, step == 0 ? 1 : 0));
      optimizer->step(0.1);
      for (const OptimizerState<float>& s : optimizer->state()) {
        EXPECT_NE(std::fpclassify(s.tensor(0)), FP_SUBNORMAL) << name << s.name << step;
        was_smallest |= s.tensor(0) == std::numeric_limits<float>::min();
      }
    }
    EXPECT_TRUE(was_smallest) << name;
    for (const OptimizerState<float>& s : optimizer->state()) EXPECT_EQ(s.tensor(0), 0.0f) << name;
  }
}

// Two optimizers that have a part each do together what one does, with the state of their parts.
TEST(Optimizers, PartsMakeUpTheWhole) {
  const ModelPart kParts[] = {{{0, 8192}, {24576, 32003}}, {{8192, 24576}}};
  for (const std::string& name : optimizer_names()) {
    Parameters<float> whole(0), parts(0);
    std::vector<std::unique_ptr<Optimizer<float>>> optimizers;
    const auto fill = [](Parameters<float>& parameters) {
      make_parameter(parameters, "a.x", {12000}, test::constant(1));
      make_parameter(parameters, "a.y", {50, 400}, test::constant(2));
      make_parameter(parameters, "a.z", {3}, test::constant(3));
    };
    fill(whole);
    fill(parts);
    const auto all = make_optimizer(name, whole, {.weight_decay = 0.1, .momentum = 0.5});
    for (const ModelPart& part : kParts) {
      optimizers.push_back(
          make_optimizer(name, parts, {.weight_decay = 0.1, .momentum = 0.5, .part = part}));
    }
    for (int step = 0; step < 3; ++step) {
      for (const Parameters<float>* parameters : {&whole, &parts}) {
        for (const Parameter<float>& p : *parameters) {
          Tensor<float>& grad = p.variable.make_grad();
          for (std::size_t i = 0; i < grad.size(); ++i) grad.data()[i] = std::sin(float(i + step));
        }
      }
      all->step(0.1);
      for (const auto& optimizer : optimizers) optimizer->step(0.1);
    }
    for (const Parameter<float>& p : whole) {
      EXPECT_EQ(parts.at(p.name).value(), p.variable.value()) << name << " " << p.name;
    }
    const std::size_t slots = all->state().size() / 3;
    std::size_t sizes[2] = {0, 0};
    for (std::size_t k = 0; k < 2; ++k) {
      for (const OptimizerState<float>& s : optimizers[k]->state()) sizes[k] += s.tensor.size();
    }
    EXPECT_EQ(sizes[0], slots * (32003 - 16384)) << name;
    EXPECT_EQ(sizes[1], slots * 16384) << name;
    if (slots == 0) continue;
    // A whole tensor is cut to the part.
    Tensor<float> y = zeros<float>({50, 400});
    y.data()[24576 - 12000] = 5;
    const OptimizerState<float>& state = optimizers[0]->state()[1];
    optimizers[0]->set_state(state.name, y);
    EXPECT_EQ(state.tensor.data()[0], 5) << name;
    EXPECT_EQ(state.first, 24576u - 12000u);
  }
}

struct Case {
  std::string fixture;
  std::string name;
  double lr;
  std::vector<std::string> slots;
  OptimizerOptions options;
};

const OptimizerOptions kAdamOptions{.betas = {0.8, 0.95}, .eps = 1e-7, .weight_decay = 0.1};

// lion's numbers are worked by NumPy from the paper, all others are PyTorch's.
const std::vector<Case> kCases = {
    {"adam", "adam", 0.01, {"exp_avg", "exp_avg_sq"}, kAdamOptions},
    {"adamw", "adamw", 0.01, {"exp_avg", "exp_avg_sq"}, kAdamOptions},
    {"sgd", "sgd", 0.01, {"momentum_buffer"}, {.weight_decay = 0.1, .momentum = 0.85}},
    {"nesterov",
     "sgd",
     0.01,
     {"momentum_buffer"},
     {.weight_decay = 0.1, .momentum = 0.85, .nesterov = true}},
    {"rmsprop", "rmsprop", 0.01, {"square_avg"}, {.eps = 1e-7, .weight_decay = 0.1, .alpha = 0.9}},
    {"adagrad", "adagrad", 0.01, {"sum"}, {.eps = 1e-7, .weight_decay = 0.1}},
    {"lion", "lion", 0.0093, {"exp_avg"}, {.betas = {0.85, 0.97}, .weight_decay = 0.1}},
};

class Torch : public testing::TestWithParam<Case> {};

TEST_P(Torch, SameParametersAndState) {
  const Case& c = GetParam();
  Parameters<double> parameters(0);
  test::make_golden_parameters(parameters);
  const auto optimizer = make_optimizer(c.name, parameters, c.options);
  for (std::size_t s = 0; s < 100; ++s) {
    test::set_golden_gradients(parameters, s);
    optimizer->step(c.lr);
    if (s != 0 && s != 99) continue;
    for (const Parameter<double>& p : parameters) {
      const std::string name = c.fixture + "." + std::to_string(s + 1) + "." + p.name;
      EXPECT_LE(test::difference(p.variable.value(), name), s == 0 ? 1e-14 : 1e-12) << name;
    }
  }
  EXPECT_EQ(optimizer->steps(), 100u);
  EXPECT_EQ(optimizer->state().size(), c.slots.size() * parameters.size());
  EXPECT_EQ(optimizer->state()[0].name, c.slots[0] + ".embedding.token.weight");
  for (const OptimizerState<double>& state : optimizer->state()) {
    EXPECT_LE(test::difference(state.tensor, c.fixture + ".100." + state.name), 1e-12)
        << state.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, Torch, testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.fixture; });

TEST(Optimizer, EveryOneIsHeldToNumbersOfOthers) {
  for (const std::string& name : optimizer_names()) {
    EXPECT_TRUE(std::any_of(kCases.begin(), kCases.end(), [&](const Case& c) {
      return c.name == name;
    })) << name;
  }
}

TEST(Optimizer, FloatFollowsDouble) {
  for (const Case& c : kCases) {
    Parameters<float> parameters(0);
    test::make_golden_parameters(parameters);
    const auto optimizer = make_optimizer(c.name, parameters, c.options);
    for (std::size_t s = 0; s < 100; ++s) {
      test::set_golden_gradients(parameters, s);
      optimizer->step(c.lr);
    }
    for (const Parameter<float>& p : parameters) {
      EXPECT_LE(test::difference(p.variable.value(), c.fixture + ".100." + p.name), 1e-4)
          << c.fixture << p.name;
    }
  }
}

TEST(Optimizer, GradientScaleIsTheSameAsScaledGradients) {
  for (const std::string& name : optimizer_names()) {
    Parameters<double> a(0), b(0);
    test::make_golden_parameters(a);
    test::make_golden_parameters(b);
    const auto scaled = make_optimizer(name, a, kAdamOptions),
               plain = make_optimizer(name, b, kAdamOptions);
    for (std::size_t s = 0; s < 3; ++s) {
      test::set_golden_gradients(a, s);
      test::set_golden_gradients(b, s);
      for (const auto& p : b) {
        for (double& g : p.variable.mutable_grad()) g *= 0.5;
      }
      scaled->step(0.01, 0.5);
      plain->step(0.01);
    }
    for (const auto& p : a) EXPECT_EQ(p.variable.value(), b.at(p.name).value()) << name << p.name;
  }
}

// Plain gradient descent by somebody who thought of neither clipping nor groups with `freeze`.
class Descent final : public Optimizer<float> {
 public:
  Descent(const Parameters<float>& parameters, const OptimizerOptions& options)
      : Optimizer<float>(parameters, options, {}) {}

 private:
  void update(const ParameterSpan<float>& span) const override {
    for (std::size_t i = 0; i < span.size; ++i) span.value[i] -= float(span.lr) * span.grad[i];
  }
};

TEST(Optimizer, ClipsForEverySubclass) {
  for (const std::size_t size : {1, 8192, 20000}) {
    Parameters<float> parameters(0);
    const auto x = make_parameter(parameters, "a.x", {size}, test::constant(1));
    const auto frozen = make_parameter(parameters, "a.frozen", {3}, test::constant(1));
    Descent descent(parameters, {.groups = {{.match = "a.frozen", .freeze = true}}});
    for (const auto& p : parameters) add_gradient(p.variable, full<float>(p.variable.shape(), 8));
    Tensor<float> ramp = empty<float>({size});
    for (std::size_t i = 0; i < size; ++i) ramp(i) = float(i);
    x.mutable_grad() = ramp;
    descent.step(0.5, 0.25);
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(x.value()(i), 1 - float(i) / 8) << size;
    EXPECT_EQ(frozen.value(), full<float>({3}, 1));
    EXPECT_EQ(x.grad(), ramp);
  }
}

// Sizes around the block's, so that blocks hold parts of several tensors and tensors several
// blocks.
template <class T>
std::vector<Tensor<T>> trained(const std::string& name, int thread_count) {
  const int before = threads();
  set_threads(thread_count);
  Parameters<T> parameters(7);
  std::size_t i = 0;
  for (const std::size_t size : {3, 8192, 1, 20000, 0, 5, 8190, 40000}) {
    make_parameter(parameters, "m" + std::to_string(i++) + ".weight", Shape{size, 1},
                   [](std::span<double> values, const Shape&, const Rng& rng) {
                     for (std::size_t e = 0; e < values.size(); ++e) values[e] = rng.normal(e);
                   });
  }
  const auto optimizer = make_optimizer(name, parameters, {.weight_decay = 0.1, .momentum = 0.9});
  for (int s = 0; s < 3; ++s) {
    parameters.zero_grad();
    for (const auto& p : parameters) add_gradient(p.variable, p.variable.value());
    optimizer->step(0.01);
  }
  set_threads(before);
  std::vector<Tensor<T>> result;
  for (const auto& p : parameters) result.push_back(p.variable.value());
  for (const auto& s : optimizer->state()) result.push_back(s.tensor);
  return result;
}

TEST(Optimizer, SameBitsForAnyNumberOfThreads) {
  for (const std::string& name : optimizer_names()) {
    const auto expected = trained<float>(name, 1);
    for (const int count : {2, 3, 8})
      EXPECT_EQ(trained<float>(name, count), expected) << name << count;
  }
}

// One tensor at a time, each in an optimizer of its own, is what one pass over all of them must
// equal.
TEST(Optimizer, OnePassEqualsTensorByTensor) {
  for (const std::string& name : optimizer_names()) {
    const auto together = trained<double>(name, 2);
    std::size_t i = 0;
    for (const std::size_t size : {3, 8192, 1, 20000, 0, 5, 8190, 40000}) {
      Parameters<double> parameters(7);
      const auto x = make_parameter(parameters, "m" + std::to_string(i) + ".weight", Shape{size, 1},
                                    [](std::span<double> values, const Shape&, const Rng& rng) {
                                      for (std::size_t e = 0; e < values.size(); ++e) {
                                        values[e] = rng.normal(e);
                                      }
                                    });
      const auto optimizer =
          make_optimizer(name, parameters, {.weight_decay = 0.1, .momentum = 0.9});
      for (int s = 0; s < 3; ++s) {
        parameters.zero_grad();
        add_gradient(x, x.value());
        optimizer->step(0.01);
      }
      ASSERT_EQ(x.shape(), together[i].shape());
      for (std::size_t e = 0; e < size; ++e) {
        ASSERT_NEAR(x.value().data()[e], together[i].data()[e], 1e-14)
            << name << " " << i << " " << e;
      }
      ++i;
    }
  }
}

TEST(Optimizer, ResumesFromItsState) {
  for (const std::string& name : optimizer_names()) {
    Parameters<double> whole(0), first(0), second(0);
    for (auto* p : {&whole, &first, &second}) test::make_golden_parameters(*p);
    const auto run = [](Parameters<double>& p, Optimizer<double>& optimizer, std::size_t from,
                        std::size_t to) {
      for (std::size_t s = from; s < to; ++s) {
        test::set_golden_gradients(p, s);
        optimizer.step(0.01);
      }
    };
    run(whole, *make_optimizer(name, whole, kAdamOptions), 0, 9);
    const auto a = make_optimizer(name, first, kAdamOptions),
               b = make_optimizer(name, second, kAdamOptions);
    run(first, *a, 0, 4);
    for (const auto& p : second) p.variable.mutable_value() = first.at(p.name).value();
    for (const auto& s : a->state()) b->set_state(s.name, s.tensor);
    b->set_steps(a->steps());
    run(second, *b, 4, 9);
    for (const auto& p : whole)
      EXPECT_EQ(p.variable.value(), second.at(p.name).value()) << name << p.name;
  }
}

TEST(Optimizer, StateExistsBeforeTheFirstStep) {
  Parameters<float> parameters(0);
  test::make_golden_parameters(parameters);
  const auto adam = make_optimizer("adamw", parameters, {});
  ASSERT_EQ(adam->state().size(), 12u);
  EXPECT_EQ(adam->state()[0].name, "exp_avg.embedding.token.weight");
  EXPECT_EQ(adam->state()[11].name, "exp_avg_sq.head.weight");
  EXPECT_EQ(adam->state()[11].tensor, zeros<float>({3, 2}));
  EXPECT_EQ(make_optimizer("sgd", parameters, {})->state()[1].name,
            "momentum_buffer.embedding.position.weight");
}

TEST(Optimizer, NamesEveryParameterThatNoGradientReached) {
  Parameters<double> parameters(0);
  test::make_golden_parameters(parameters);
  const auto adam = make_optimizer("adam", parameters, {});
  test::set_golden_gradients(parameters, 0);
  parameters.at("embedding.token.weight").zero_grad();
  parameters.at("head.weight").zero_grad();
  const Tensor<double> before = parameters.at("embedding.position.weight").value();
  EXPECT_EQ(test::message_of<NumericError>([&] { adam->step(0.1); }),
            "optimizer: these parameters have no gradient:\n  embedding.token.weight\n  "
            "head.weight");
  EXPECT_EQ(adam->steps(), 0u);
  EXPECT_EQ(parameters.at("embedding.position.weight").value(), before);
}

// A branch behind zero weights is legal: its gradient is zero, but it arrives.
TEST(Optimizer, AcceptsGradientsThatAreZeroAndLaterOnesThatAreMissing) {
  Parameters<double> parameters(0);
  const auto x = make_parameter(parameters, "a.x", {2}, test::constant(1));
  const auto y = make_parameter(parameters, "a.y", {2}, test::constant(1));
  const auto adam = make_optimizer("adam", parameters, {});
  add_gradient(x, zeros<double>({2}));
  add_gradient(y, full<double>({2}, 1));
  adam->step(0.1);
  EXPECT_EQ(x.value(), full<double>({2}, 1));
  const Tensor<double> before = y.value();
  parameters.zero_grad();
  add_gradient(x, full<double>({2}, 1));
  adam->step(0.1);
  EXPECT_EQ(y.value(), before);
  EXPECT_LT(x.value()(0), 1);
}

TEST(Optimizer, RefusesForeignState) {
  Parameters<double> parameters(0);
  make_parameter(parameters, "a.x", {2}, test::constant(1));
  const auto adam = make_optimizer("adam", parameters, {});
  EXPECT_EQ(test::message_of<Error>([&] { adam->set_state("exp_avg.a.y", zeros<double>({2})); }),
            "there is no state tensor of the optimizer 'exp_avg.a.y'");
  EXPECT_EQ(test::message_of<ShapeError>([&] {
              adam->set_state("exp_avg.a.x", zeros<double>({2, 1}));
            }),
            "the state tensor of the optimizer 'exp_avg.a.x' has shape (2), not (2, 1)");
  EXPECT_EQ(test::message_of<ConfigError>([&] { make_optimizer("adamax", parameters, {}); }),
            "there is no optimizer 'adamax'; there are adagrad, adam, adamw, lion, rmsprop, sgd");
  make_parameter(parameters, "a.y", {2}, test::constant(1));
  EXPECT_EQ(test::message_of<Error>([&] { adam->step(0.1); }),
            "optimizer: the model had 1 parameters when the optimizer was created, but has 2 now");
}

TEST(Optimizer, RefusesAThirdSlot) {
  struct Three : Optimizer<double> {
    explicit Three(const Parameters<double>& p) : Optimizer<double>(p, {}, {"a", "b", "c"}) {}
    void update(const ParameterSpan<double>&) const override {}
  };
  const Parameters<double> parameters(0);
  EXPECT_EQ(test::message_of<Error>([&] { Three three(parameters); }),
            "optimizer: expected at most 2 slots, got 3");
}

}  // namespace
}  // namespace xgrad

#include <xgrad/train/ranks/division.hpp>

#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <cmath>
#include <mutex>

#include <xgrad/autograd/check.hpp>
#include <xgrad/optim/clip.hpp>

#include "support/tensors.hpp"
#include "support/thread_ranks.hpp"

namespace xgrad {
namespace {

// Two parameters with gradients of 30,003 scalars together: four blocks, the last not full.
struct Model {
  Parameters<float> parameters{1};
  Variable<float> a, b;
  Model() {
    const auto nothing = [](std::span<double> x, const Shape&, const Rng&) {
      std::fill(x.begin(), x.end(), 0);
    };
    const Scope<float> scope = parameters.root() / "model";
    a = scope.parameter("a", {3, 1000}, nothing);
    b = scope.parameter("b", {27003}, nothing);
  }
};

float gradient_of(std::size_t shard, std::size_t element) {
  return float(std::sin(double(shard * 31 + element))) * std::exp2(float(element % 9));
}

void give_gradients(const Model& model, std::size_t shard) {
  Tensor<float>& a = model.a.make_grad();
  Tensor<float>& b = model.b.make_grad();
  for (std::size_t i = 0; i < a.size(); ++i) a.data()[i] = gradient_of(shard, i);
  for (std::size_t i = 0; i < b.size(); ++i) b.data()[i] = gradient_of(shard, 3000 + i);
}

// The sum over five shards, as the header of shard_tree.hpp writes it.
float sum_of_five(std::size_t e) {
  const auto g = [e](std::size_t shard) { return gradient_of(shard, e); };
  return ((g(0) + g(1)) + (g(2) + g(3))) + g(4);
}

TEST(Division, AddsFiveShardsInTheSameOrderOnAnyNumberOfRanks) {
  for (const std::size_t size : {1, 2, 3, 4, 5}) {
    std::mutex mutex;
    std::vector<float> sums(30003);
    std::vector<double> norms;
    std::size_t elements = 0;
    test::on_ranks(size, [&](Ranks& ranks) {
      const Model model;
      Division<float> division(model.parameters, 5, ranks);
      for (std::size_t i = division.shards().begin; i < division.shards().end; ++i) {
        give_gradients(model, i);
        division.take();
        EXPECT_FALSE(model.a.has_grad());
      }
      division.add_up();
      const double norm = division.norm();
      const std::lock_guard lock(mutex);
      norms.push_back(norm);
      const Range own{division.slice().begin, std::min<std::size_t>(division.slice().end, 30003)};
      for (std::size_t e = own.begin; e < own.end; ++e) {
        sums[e] = e < 3000 ? model.a.grad().data()[e] : model.b.grad().data()[e - 3000];
        ++elements;
      }
    });
    ASSERT_EQ(elements, 30003u) << size << " ranks";  // each in one slice
    double squares = 0;
    for (std::size_t e = 0; e < sums.size(); ++e) {
      ASSERT_EQ(sums[e], sum_of_five(e)) << "element " << e << " on " << size << " ranks";
      squares += double(sums[e]) * double(sums[e]);
    }
    for (const double norm : norms) {
      EXPECT_EQ(norm, norms[0]);
      EXPECT_NEAR(norm / std::sqrt(squares), 1, 1e-13);
    }
    static const double on_one = norms[0];
    EXPECT_EQ(norms[0], on_one) << size << " ranks";
  }
}

TEST(Division, ShardsWithoutGradientsCountAsZero) {
  test::on_ranks(2, [&](Ranks& ranks) {
    const Model model;
    Division<float> division(model.parameters, 2, ranks);
    if (ranks.rank() == 0) give_gradients(model, 0);
    division.take();
    division.add_up();
    const float expected = ranks.rank() == 1 ? gradient_of(0, 30002) : model.b.grad().data()[27002];
    EXPECT_EQ(model.b.grad().data()[27002], expected);
  });
}

// The optimizer then names the parameter.
TEST(Division, AParameterWithoutAnyGradientKeepsNone) {
  test::on_ranks(2, [&](Ranks& ranks) {
    const Model model;
    Division<float> division(model.parameters, 2, ranks);
    if (ranks.rank() == 1) model.b.make_grad();
    division.take();
    division.add_up();
    EXPECT_FALSE(model.a.has_grad());
    EXPECT_TRUE(model.b.has_grad());
  });
}

TEST(Division, GathersTheSlicesOfAllRanks) {
  for (const std::size_t size : {2, 3, 5}) {
    test::on_ranks(size, [&](Ranks& ranks) {
      const Model model;
      Division<float> division(model.parameters, 5, ranks);
      Tensor<float>& a = model.a.mutable_value();
      Tensor<float>& b = model.b.mutable_value();
      const Range own = division.slice();
      for (std::size_t e = own.begin; e < own.end; ++e) {
        (e < 3000 ? a.data()[e] : b.data()[e - 3000]) = float(e);
      }
      division.gather_values();
      for (std::size_t e = 0; e < 30003; ++e) {
        ASSERT_EQ((e < 3000 ? a.data()[e] : b.data()[e - 3000]), float(e));
      }
    });
  }
}

TEST(Division, MoreRanksThanShardsIsAnError) {
  test::on_ranks(3, [&](Ranks& ranks) {
    const Model model;
    const std::string message =
        test::message_of<ConfigError>([&] { Division<float>(model.parameters, 2, ranks); });
    EXPECT_EQ(message, "train.shards: is 2, but there are 3 processes; set train.shards=3 or more");
  });
}

TEST(Ranks, TextsAndNumbersComeInTheOrderOfTheRanks) {
  test::on_ranks(3, [&](Ranks& ranks) {
    const std::size_t r = ranks.rank();
    const std::string own[] = {"", "one", "three words long"};
    EXPECT_EQ(gather_texts(ranks, own[r]), (std::vector<std::string>{own, own + 3}));
    EXPECT_EQ(first_text(ranks, own[r]), "one");
    EXPECT_EQ(first_text(ranks, ""), "");
    EXPECT_EQ(gather_numbers(ranks, std::vector<double>(r, double(r))),
              (std::vector<double>{1, 2, 2}));
    EXPECT_TRUE(any(ranks, r == 2));
    EXPECT_FALSE(any(ranks, false));
  });
}

}  // namespace
}  // namespace xgrad

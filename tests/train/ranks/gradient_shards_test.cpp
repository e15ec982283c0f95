#include <xgrad/train/ranks/gradient_shards.hpp>

#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/observer.hpp>
#include <xgrad/autograd/ops.hpp>
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

void for_each_of(const ModelPart& slice, const std::function<void(std::size_t)>& f) {
  for (const Range& range : slice.empty() ? ModelPart{{0, 30003}} : slice) {
    for (std::size_t e = range.begin; e < range.end; ++e) f(e);
  }
}

// The sum over five shards, as the header writes it.
float sum_of_five(std::size_t e) {
  const auto g = [e](std::size_t shard) { return gradient_of(shard, e); };
  return ((g(0) + g(1)) + (g(2) + g(3))) + g(4);
}

TEST(GradientShards, AddsFiveShardsInTheSameOrderOnAnyNumberOfRanks) {
  for (const std::size_t size : {1, 2, 3, 4, 5}) {
    std::mutex mutex;
    std::vector<float> sums(30003);
    std::vector<double> norms;
    std::size_t elements = 0;
    test::on_ranks(size, [&](Ranks& ranks) {
      const Model model;
      GradientShards<float> shards(model.parameters, 5, ranks);
      for (std::size_t i = shards.shards().begin; i < shards.shards().end; ++i) {
        give_gradients(model, i);
        shards.take();
        EXPECT_FALSE(model.a.has_grad());
      }
      shards.add_up();
      const double norm = shards.norm();
      const std::lock_guard lock(mutex);
      norms.push_back(norm);
      for_each_of(shards.slice(), [&](std::size_t e) {
        sums[e] = e < 3000 ? model.a.grad().data()[e] : model.b.grad().data()[e - 3000];
        ++elements;
      });
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

// Counts the exchanges that were begun.
class CountingRank final : public Ranks {
 public:
  explicit CountingRank(Ranks& ranks) : ranks_(ranks) {}
  std::size_t rank() const override { return ranks_.rank(); }
  std::size_t size() const override { return ranks_.size(); }
  std::unique_ptr<Transfer> begin_exchange(const void* from, const std::vector<Range>& to_rank,
                                           void* into, const std::vector<Range>& from_rank,
                                           std::size_t width) override {
    ++begun;
    return ranks_.begin_exchange(from, to_rank, into, from_rank, width);
  }
  void gather(void* all, const std::vector<Range>& of_rank, std::size_t width) override {
    ranks_.gather(all, of_rank, width);
  }

  std::size_t begun = 0;

 private:
  Ranks& ranks_;
};

// Notes how many exchanges had begun at the end of each op of a backward().
struct Watch final : OpObserver {
  explicit Watch(const CountingRank& rank) : rank(rank) {}
  void end(const OpCall& call) override {
    if (call.kind == OpCall::Kind::backward) begun.push_back(rank.begun);
  }
  const CountingRank& rank;
  std::vector<std::size_t> begun;
};

// y = sum(w3 w2 w1 x): backward has w3's gradient first. Two ranks, one shard each with x = 1 or 2.
TEST(GradientShards, SendsGradientsWhileBackwardComputesOthers) {
  constexpr std::size_t kSize = 100'000;
  test::on_ranks(2, [&](Ranks& ranks) {
    Parameters<double> parameters(1);
    const auto value = [](double x) {
      return [x](std::span<double> values, const Shape&, const Rng&) {
        std::fill(values.begin(), values.end(), x);
      };
    };
    const Scope<double> scope = parameters.root() / "model";
    const auto w1 = scope.parameter("w1", {kSize}, value(3));
    const auto w2 = scope.parameter("w2", {kSize}, value(5));
    const auto w3 = scope.parameter("w3", {kSize}, value(7));
    CountingRank counting(ranks);
    GradientShards<double> shards(parameters, 2, counting);
    EXPECT_EQ(shards.slice().size(), 3u);  // of three buckets
    const double x = double(ranks.rank()) + 1;
    shards.send_early();
    const auto y = sum(mul(w3, mul(w2, scale(w1, x))));
    Watch watch(counting);
    {
      const ScopedObserver observing(watch);
      y.backward();
    }
    // After sum, product with w3, product with w2, and scale: what the ops before them completed.
    EXPECT_EQ(watch.begun, (std::vector<std::size_t>{0, 0, 1, 2}));
    EXPECT_EQ(counting.begun, 3u);
    shards.take();
    shards.add_up();
    EXPECT_EQ(counting.begun, 3u);
    const std::array expected{std::pair{w1, 5 * 7 * 3}, std::pair{w2, 3 * 7 * 3},
                              std::pair{w3, 3 * 5 * 3}};
    for (const Range& range : shards.slice()) {
      for (std::size_t e = range.begin; e < range.end; ++e) {
        const auto& [w, factor] = expected[e / kSize];
        ASSERT_EQ(w.grad().data()[e % kSize], factor) << e;
      }
    }
  });
}

TEST(GradientShards, ShardsWithoutGradientsCountAsZero) {
  test::on_ranks(2, [&](Ranks& ranks) {
    const Model model;
    GradientShards<float> shards(model.parameters, 2, ranks);
    if (ranks.rank() == 0) give_gradients(model, 0);
    shards.take();
    shards.add_up();
    const float expected = ranks.rank() == 1 ? gradient_of(0, 30002) : model.b.grad().data()[27002];
    EXPECT_EQ(model.b.grad().data()[27002], expected);
  });
}

// The optimizer then names the parameter.
TEST(GradientShards, AParameterWithoutAnyGradientKeepsNone) {
  test::on_ranks(2, [&](Ranks& ranks) {
    const Model model;
    GradientShards<float> shards(model.parameters, 2, ranks);
    if (ranks.rank() == 1) model.b.make_grad();
    shards.take();
    shards.add_up();
    EXPECT_FALSE(model.a.has_grad());
    EXPECT_TRUE(model.b.has_grad());
  });
}

TEST(GradientShards, GathersTheSlicesOfAllRanks) {
  for (const std::size_t size : {2, 3, 5}) {
    test::on_ranks(size, [&](Ranks& ranks) {
      const Model model;
      GradientShards<float> shards(model.parameters, 5, ranks);
      Tensor<float>& a = model.a.mutable_value();
      Tensor<float>& b = model.b.mutable_value();
      for_each_of(shards.slice(),
                  [&](std::size_t e) { (e < 3000 ? a.data()[e] : b.data()[e - 3000]) = float(e); });
      shards.gather_values();
      for (std::size_t e = 0; e < 30003; ++e) {
        ASSERT_EQ((e < 3000 ? a.data()[e] : b.data()[e - 3000]), float(e));
      }
    });
  }
}

TEST(GradientShards, MoreRanksThanShardsIsAnError) {
  test::on_ranks(3, [&](Ranks& ranks) {
    const Model model;
    const std::string message =
        test::message_of<ConfigError>([&] { GradientShards<float>(model.parameters, 2, ranks); });
    EXPECT_EQ(message, "train.shards: is 2, but there are 3 processes; set train.shards=3 or more");
  });
}

TEST(GradientShards, RefusesTensorsOfAnotherShape) {
  test::on_ranks(2, [&](Ranks& ranks) {
    const Model model;
    GradientShards<float> shards(model.parameters, 2, ranks);
    model.b.make_grad() = ones<float>({1});
    EXPECT_THROW(shards.take(), ShapeError);
    model.b.zero_grad();
    model.b.mutable_value() = ones<float>({1});
    EXPECT_THROW(shards.gather_values(), ShapeError);
    EXPECT_THROW(GradientShards<float>(model.parameters, 2, ranks), ShapeError);
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

std::string text_of(const Range& node) {
  if (node.size() == 1) return std::to_string(node.begin);
  const std::size_t cut = cut_of(node);
  return "(" + text_of({node.begin, cut}) + " " + text_of({cut, node.end}) + ")";
}

TEST(ShardTree, ItsShapeIsFixed) {
  EXPECT_EQ(text_of({0, 1}), "0");
  EXPECT_EQ(text_of({0, 2}), "(0 1)");
  EXPECT_EQ(text_of({0, 3}), "((0 1) 2)");
  EXPECT_EQ(text_of({0, 5}), "(((0 1) (2 3)) 4)");
  EXPECT_EQ(text_of({0, 6}), "(((0 1) (2 3)) (4 5))");
  EXPECT_EQ(text_of({0, 8}), "(((0 1) (2 3)) ((4 5) (6 7)))");
}

TEST(ShardTree, ARangeIsMadeOfItsLargestNodes) {
  EXPECT_EQ(nodes_of({0, 8}, {0, 8}), (std::vector<Range>{{0, 8}}));
  EXPECT_EQ(nodes_of({1, 8}, {0, 8}), (std::vector<Range>{{1, 2}, {2, 4}, {4, 8}}));
  EXPECT_EQ(nodes_of({3, 6}, {0, 8}), (std::vector<Range>{{3, 4}, {4, 6}}));
  EXPECT_EQ(nodes_of({4, 6}, {0, 6}), (std::vector<Range>{{4, 6}}));
  EXPECT_EQ(nodes_of({2, 2}, {0, 8}), (std::vector<Range>{}));
  EXPECT_TRUE(is_node({4, 5}, 5));
  EXPECT_TRUE(is_node({4, 6}, 6));
  EXPECT_FALSE(is_node({1, 3}, 4));
  EXPECT_FALSE(is_node({3, 5}, 5));
}

}  // namespace
}  // namespace xgrad

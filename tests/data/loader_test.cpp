#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <numeric>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/data/loader.hpp>

namespace xgrad {
namespace {

/// Example i: i + 1 mod 5 tokens, all of them i; augmented by its epoch in the target.
class Numbered final : public Dataset {
 public:
  explicit Numbered(std::size_t size) : size_(size) {}
  std::size_t size() const override { return size_; }
  Example get(std::uint64_t epoch, std::size_t index) const override {
    check<DataError>(index < size_, "Numbered: index");
    return {
        std::vector<std::int32_t>(1 + index % 5, std::int32_t(index)), {}, {std::int32_t(epoch)}};
  }

 private:
  std::size_t size_;
};

const TaskShape kShape = {.input = InputKind::tokens,
                          .output = OutputKind::sequence,
                          .vocabulary = 1000,
                          .max_length = 5,
                          .classes = 1000};

std::vector<std::int32_t> numbers(const Batch& batch) {
  std::vector<std::int32_t> result;
  for (std::size_t b = 0; b < batch.size; ++b) result.push_back(batch.ids(b, 0));
  return result;
}

bool same(const Batch& a, const Batch& b) {
  return a.size == b.size && a.ids == b.ids && a.targets == b.targets && !a.mask == !b.mask &&
         (!a.mask || *a.mask == *b.mask);
}

TEST(Loader, WithoutShufflingGivesExamplesByNumber) {
  const Numbered dataset(10);
  Loader loader(dataset, kShape, {.batch = 4});
  EXPECT_EQ(loader.batches_per_epoch(), 3);
  EXPECT_EQ(numbers(loader.next()), (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(loader.state(), (LoaderState{0, 4}));
  EXPECT_EQ(numbers(loader.next()), (std::vector<std::int32_t>{4, 5, 6, 7}));
  EXPECT_EQ(numbers(loader.next()), (std::vector<std::int32_t>{8, 9})) << "the last is smaller";
  EXPECT_EQ(loader.state(), (LoaderState{1, 0}));
  EXPECT_EQ(numbers(loader.next()), (std::vector<std::int32_t>{0, 1, 2, 3}));
}

TEST(Loader, EveryEpochIsAnotherPermutation) {
  const Numbered dataset(100);
  Loader loader(dataset, kShape, {.batch = 7, .seed = 3, .shuffle = true});
  std::vector<std::vector<std::int32_t>> epochs(5);
  for (std::size_t epoch = 0; epoch < epochs.size(); ++epoch) {
    for (std::size_t i = 0; i < loader.batches_per_epoch(); ++i) {
      const Batch batch = loader.next();
      for (std::size_t b = 0; b < batch.size; ++b) EXPECT_EQ(batch.targets(b), int(epoch));
      for (std::int32_t number : numbers(batch)) epochs[epoch].push_back(number);
    }
    EXPECT_EQ(loader.state(), (LoaderState{epoch + 1, 0}));
    auto sorted = epochs[epoch];
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::int32_t> all(100);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(sorted, all);
    EXPECT_NE(epochs[epoch], all);
    for (std::size_t before = 0; before < epoch; ++before) EXPECT_NE(epochs[before], epochs[epoch]);
  }
  Loader other(dataset, kShape, {.batch = 100, .seed = 4, .shuffle = true});
  EXPECT_NE(numbers(other.next()), epochs[0]) << "another seed, another order";
}

/// Tokens of padding in an epoch.
std::size_t padding(const Dataset& dataset, const LoaderOptions& options) {
  Loader loader(dataset, kShape, options);
  std::size_t count = 0;
  for (std::size_t i = 0; i < loader.batches_per_epoch(); ++i) {
    const Batch batch = loader.next();
    if (batch.mask) count += std::size_t(std::count(batch.mask->begin(), batch.mask->end(), 0));
  }
  return count;
}

TEST(Loader, BucketsGiveEveryExampleOnceWithLittlePadding) {
  const Numbered dataset(903);
  const LoaderOptions options = {.batch = 10, .seed = 3, .shuffle = true, .bucket = 20};
  Loader loader(dataset, kShape, options);
  std::vector<std::vector<std::int32_t>> epochs(2);
  std::vector<std::size_t> longest;
  for (auto& epoch : epochs) {
    for (std::size_t i = 0; i < loader.batches_per_epoch(); ++i) {
      const Batch batch = loader.next();
      EXPECT_EQ(batch.size, i == 90 ? 3 : 10) << "the smaller batch is the last";
      longest.push_back(batch.ids.shape()[1]);
      for (std::int32_t number : numbers(batch)) epoch.push_back(number);
    }
  }
  EXPECT_NE(epochs[0], epochs[1]);
  for (auto& epoch : epochs) {
    std::sort(epoch.begin(), epoch.end());
    for (std::size_t i = 0; i < epoch.size(); ++i) EXPECT_EQ(epoch[i], std::int32_t(i));
  }
  EXPECT_FALSE(std::is_sorted(longest.begin(), longest.begin() + 20)) << "batches are shuffled";
  EXPECT_LT(5 * padding(dataset, options),
            padding(dataset, {.batch = 10, .seed = 3, .shuffle = true}));
}

// A loop that walks through the same order and passes over what is too long.
TEST(Loader, ACurriculumPassesOverExamplesAboveAGrowingLimit) {
  const Numbered dataset(103);
  const LoaderOptions plain{.batch = 103, .seed = 3, .shuffle = true};
  LoaderOptions options{.batch = 8, .seed = 3, .shuffle = true};
  options.curriculum = {.first = 2, .batches = 30, .group = 3};
  Loader loader(dataset, kShape, options), orders(dataset, kShape, plain);
  std::vector<std::int32_t> order = numbers(orders.next());
  std::size_t at = 0;
  for (std::uint64_t b = 0; b < 60; ++b) {
    const std::size_t limit = std::min<std::size_t>(5, 2 + 3 * (b / 3 * 3) / 30);
    EXPECT_EQ(loader.limit(), limit) << b;
    std::vector<std::int32_t> expected;
    while (expected.empty()) {
      for (; at < order.size() && expected.size() < 8; ++at) {
        if (1 + std::size_t(order[at]) % 5 <= limit) expected.push_back(order[at]);
      }
      if (at < order.size()) break;
      order = numbers(orders.next());
      at = 0;
    }
    ASSERT_EQ(numbers(loader.next()), expected) << b;
    EXPECT_EQ(loader.state().batches, b + 1);
  }
}

TEST(Loader, ACurriculumContinuesFromAnyState) {
  const Numbered dataset(50);
  LoaderOptions options{.batch = 8, .seed = 3, .shuffle = true, .bucket = 2};
  options.curriculum = {.first = 1, .batches = 25};
  Loader whole(dataset, kShape, options);
  for (std::size_t b = 0; b < 40; ++b) {
    Loader other(dataset, kShape, options);
    other.restore(whole.state());
    ASSERT_TRUE(same(other.next(), whole.next())) << b;
    ASSERT_EQ(other.state(), whole.state());
  }
}

TEST(Loader, ACurriculumNeedsAnExampleThatIsShortEnough) {
  struct Long final : Dataset {
    explicit Long(std::size_t length) : tokens(length) {}
    std::size_t size() const override { return 3; }
    Example get(std::uint64_t, std::size_t) const override {
      return {std::vector<std::int32_t>(tokens), {}, {0}};
    }
    std::size_t tokens;
  };
  LoaderOptions options{.batch = 2};
  options.curriculum = {.first = 2, .batches = 5};
  EXPECT_NO_THROW(Loader(Long(2), kShape, options));
  try {
    Loader(Long(4), kShape, options);
    FAIL() << "was not refused";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "train.curriculum_start: is 2, but the shortest training example has length 4");
  }
  EXPECT_THROW(Loader(Long(0), kShape, options), ConfigError);
}

// Bucketing makes no example for its length, and asks for each length once.
TEST(Loader, BucketsByLengthsThatTheDataSetKnows) {
  struct Counted final : Dataset {
    std::size_t size() const override { return 60; }
    Example get(std::uint64_t, std::size_t index) const override {
      ++made;
      return {.ids = std::vector<std::int32_t>(1 + index % 5, 0), .targets = {0}};
    }
    std::size_t length(std::size_t index, const TaskShape&) const override {
      ++asked;
      return 1 + index % 5;
    }
    mutable std::atomic<std::size_t> made = 0, asked = 0;
  } dataset;
  Loader loader(dataset, kShape, {.batch = 10, .seed = 3, .shuffle = true, .bucket = 6});
  for (int batch = 0; batch < 18; ++batch) loader.next();
  EXPECT_EQ(dataset.made, 180u) << "three epochs";
  EXPECT_EQ(dataset.asked, 60u);
}

class LoaderStates : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Buckets, LoaderStates, testing::Values(1, 2));

TEST_P(LoaderStates, GoesOnFromAnyStateWithTheSameBatches) {
  const Numbered dataset(23);
  const LoaderOptions options = {.batch = 5, .seed = 9, .shuffle = true, .bucket = GetParam()};
  Loader straight(dataset, kShape, options);
  std::vector<LoaderState> states;
  std::vector<Batch> batches;
  for (int i = 0; i < 20; ++i) {
    states.push_back(straight.state());
    batches.push_back(straight.next());
  }
  Loader used(dataset, kShape, options);  // restored forwards and backwards
  for (std::size_t start : {13, 4, 19, 0, 5}) {
    Loader fresh(dataset, kShape, options);
    fresh.restore(states[start]);
    used.restore(states[start]);
    for (std::size_t i = start; i < batches.size(); ++i) {
      EXPECT_EQ(fresh.state(), states[i]);
      EXPECT_TRUE(same(fresh.next(), batches[i])) << "from " << start << " at " << i;
      EXPECT_TRUE(same(used.next(), batches[i])) << "from " << start << " at " << i;
    }
  }
}

TEST(Loader, AStateOfAnotherDataSetIsRefused) {
  const Numbered dataset(10);
  Loader loader(dataset, kShape, {.batch = 4});
  EXPECT_THROW(loader.restore({0, 10}), DataError);
  EXPECT_EQ(loader.state(), (LoaderState{0, 0}));
}

TEST(Loader, BatchesDoNotDependOnTheNumberOfThreads) {
  const int before = threads();
  const Numbered dataset(1000);
  const auto epoch_on = [&](int count) {
    set_threads(count);
    Loader loader(dataset, kShape, {.batch = 300, .seed = 2, .shuffle = true});
    std::vector<Batch> batches;
    for (std::size_t i = 0; i < loader.batches_per_epoch(); ++i) batches.push_back(loader.next());
    return batches;
  };
  const auto expected = epoch_on(1);
  for (int count : {2, 3, 8}) {
    const auto batches = epoch_on(count);
    ASSERT_EQ(batches.size(), expected.size());
    for (std::size_t i = 0; i < batches.size(); ++i) EXPECT_TRUE(same(batches[i], expected[i]));
  }
  set_threads(before);
}

TEST(Loader, ABadExampleIsNamedAndChangesNothing) {
  const Numbered dataset(1200);  // tokens 1000 ... 1199 are outside the vocabulary
  Loader loader(dataset, kShape, {.batch = 400});
  loader.next();
  loader.next();
  for (int attempt = 0; attempt < 2; ++attempt) {
    try {
      loader.next();
      FAIL() << "no exception";
    } catch (const DataError& error) {
      EXPECT_STREQ(error.what(), "example 1000: token 0 is 1000, must be below 1000");
    }
    EXPECT_EQ(loader.state(), (LoaderState{0, 800}));
  }
}

TEST(Loader, NothingToLoadIsAnError) {
  EXPECT_THROW(Loader(Numbered(0), kShape, {}), ConfigError);
  EXPECT_THROW(Loader(Numbered(3), kShape, {.batch = 0}), ConfigError);
}

}  // namespace
}  // namespace xgrad

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/prefetch_loader.hpp>

#include "support/no_threads.hpp"

namespace xgrad {
namespace {

/// Example i is the token i; one of them may be no example.
class Numbered final : public Dataset {
 public:
  explicit Numbered(std::size_t size, std::size_t broken = SIZE_MAX)
      : size_(size), broken_(broken) {}
  std::size_t size() const override { return size_; }
  Example get(std::uint64_t epoch, std::size_t index) const override {
    check<DataError>(index != broken_, "example ", index, " is broken");
    ++asked;
    elsewhere += std::this_thread::get_id() != home_;
    return {{std::int32_t(index)}, {}, {std::int32_t(epoch)}};
  }

  mutable std::atomic<std::size_t> asked = 0, elsewhere = 0;  // examples; on other threads

 private:
  std::size_t size_, broken_;
  std::thread::id home_ = std::this_thread::get_id();
};

const TaskShape kShape = {.input = InputKind::tokens,
                          .output = OutputKind::sequence,
                          .vocabulary = 1000,
                          .max_length = 1,
                          .classes = 1000};

constexpr LoaderOptions kShuffled = {.batch = 4, .seed = 3, .shuffle = true};

TEST(PrefetchLoader, GivesWhatItsLoaderGives) {
  const Numbered dataset(50);
  for (std::size_t ahead : {1, 2, 5}) {
    Loader loader(dataset, kShape, kShuffled);
    PrefetchLoader prefetch(Loader(dataset, kShape, kShuffled), 1, ahead);
    EXPECT_EQ(prefetch.state(), loader.state());
    for (int i = 0; i < 60; ++i) {
      const Batch expected = loader.next(), batch = prefetch.next();
      ASSERT_EQ(batch.ids, expected.ids) << ahead << ' ' << i;
      ASSERT_EQ(batch.targets, expected.targets) << ahead << ' ' << i;
      ASSERT_EQ(prefetch.state(), loader.state()) << "what was made ahead does not count";
    }
  }
}

TEST(PrefetchLoader, MakesSoManyAheadOnAThreadOfItsOwn) {
  const Numbered dataset(100);
  PrefetchLoader prefetch(Loader(dataset, kShape, {.batch = 4}), 2, 3);
  for (int i = 0; i < 2; ++i) prefetch.next();
  EXPECT_EQ(dataset.asked, 8);
  EXPECT_EQ(dataset.elsewhere, 0) << "the first two need no thread";
  prefetch.next();
  const std::size_t fewest = 4 * (2 + 3),
                    most = 4 * (3 + 3);  // the third was one of the three, or not
  for (int wait = 0; dataset.asked < fewest && wait < 10000; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // for what would be too many
  EXPECT_GE(dataset.asked, fewest);
  EXPECT_LE(dataset.asked, most);
  EXPECT_EQ(dataset.elsewhere, dataset.asked - 8);
}

TEST(PrefetchLoader, ForgetsWhatItMadeAheadWhenItGoesElsewhere) {
  const Numbered dataset(50);
  Loader loader(dataset, kShape, kShuffled);
  PrefetchLoader prefetch(Loader(dataset, kShape, kShuffled), 1, 3);
  for (const LoaderState state : {LoaderState{2, 8}, LoaderState{0, 0}, LoaderState{2, 8}}) {
    prefetch.next();
    prefetch.restore(state);
    loader.restore(state);
    EXPECT_EQ(prefetch.state(), state);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(prefetch.next().ids, loader.next().ids);
  }
  const LoaderState before = prefetch.state();
  EXPECT_THROW(prefetch.restore({0, 50}), DataError);
  EXPECT_EQ(prefetch.state(), before);
  EXPECT_EQ(prefetch.next().ids, loader.next().ids);
}

TEST(PrefetchLoader, MeetsAnErrorInItsTurnAndStaysBeforeIt) {
  const Numbered dataset(12, 9);
  PrefetchLoader prefetch(Loader(dataset, kShape, {.batch = 4}), 1, 3);
  EXPECT_EQ(prefetch.next().ids(0, 0), 0);
  EXPECT_EQ(prefetch.next().ids(0, 0), 4);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW(prefetch.next(), DataError);
    EXPECT_EQ(prefetch.state(), (LoaderState{0, 8}));
  }
  prefetch.restore({0, 0});
  EXPECT_EQ(prefetch.next().ids(0, 0), 0);
}

TEST(PrefetchLoader, DoesWithoutAThread) {
  const Numbered dataset(50);
  Loader loader(dataset, kShape, kShuffled);
  PrefetchLoader prefetch(Loader(dataset, kShape, kShuffled));
  for (int i = 0; i < 3; ++i) {
    const test::NoThreads none;
    ASSERT_THROW(std::thread([] {}).join(), std::system_error);
    ASSERT_EQ(prefetch.next().ids, loader.next().ids);
    ASSERT_EQ(prefetch.state(), loader.state());
  }
  for (int i = 0; i < 30; ++i) ASSERT_EQ(prefetch.next().ids, loader.next().ids);
  EXPECT_EQ(prefetch.state(), loader.state());
}

}  // namespace
}  // namespace xgrad

#include <gtest/gtest.h>
#include <pthread.h>

#include <system_error>
#include <thread>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/prefetch_loader.hpp>

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
    return {{std::int32_t(index)}, {}, {std::int32_t(epoch)}};
  }

 private:
  std::size_t size_, broken_;
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
    PrefetchLoader prefetch(Loader(dataset, kShape, kShuffled), ahead);
    EXPECT_EQ(prefetch.state(), loader.state());
    for (int i = 0; i < 60; ++i) {
      const Batch expected = loader.next(), batch = prefetch.next();
      ASSERT_EQ(batch.ids, expected.ids) << ahead << ' ' << i;
      ASSERT_EQ(batch.targets, expected.targets) << ahead << ' ' << i;
      ASSERT_EQ(prefetch.state(), loader.state()) << "what was made ahead does not count";
    }
  }
}

TEST(PrefetchLoader, ForgetsWhatItMadeAheadWhenItGoesElsewhere) {
  const Numbered dataset(50);
  Loader loader(dataset, kShape, kShuffled);
  PrefetchLoader prefetch(Loader(dataset, kShape, kShuffled), 3);
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
  PrefetchLoader prefetch(Loader(dataset, kShape, {.batch = 4}), 3);
  EXPECT_EQ(prefetch.next().ids(0, 0), 0);
  EXPECT_EQ(prefetch.next().ids(0, 0), 4);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW(prefetch.next(), DataError);
    EXPECT_EQ(prefetch.state(), (LoaderState{0, 8}));
  }
  prefetch.restore({0, 0});
  EXPECT_EQ(prefetch.next().ids(0, 0), 0);
}

/// While it lives, no thread can begin: its stack would not fit into the address space.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    pthread_getattr_default_np(&huge);
    pthread_attr_setstacksize(&huge, std::size_t(1) << 60);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }

 private:
  pthread_attr_t before_;
};

TEST(PrefetchLoader, DoesWithoutAThread) {
  const Numbered dataset(50);
  Loader loader(dataset, kShape, kShuffled);
  PrefetchLoader prefetch(Loader(dataset, kShape, kShuffled));
  for (int i = 0; i < 3; ++i) {
    const NoThreads none;
    ASSERT_THROW(std::thread([] {}).join(), std::system_error);
    ASSERT_EQ(prefetch.next().ids, loader.next().ids);
    ASSERT_EQ(prefetch.state(), loader.state());
  }
  for (int i = 0; i < 30; ++i) ASSERT_EQ(prefetch.next().ids, loader.next().ids);
  EXPECT_EQ(prefetch.state(), loader.state());
}

}  // namespace
}  // namespace xgrad

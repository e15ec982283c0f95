// PrefetchLoader: makes the batches of a Loader ahead of time, on a thread of its own.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include <xgrad/data/loader.hpp>

namespace xgrad {

/// Returns the same batches as its Loader and reports the same states, with up to `ahead` batches
/// ready in advance. Use it from one thread at a time.
class PrefetchLoader {
 public:
  /// next() makes the first `alone` batches itself, and starts the thread only for later batches.
  /// Requires: the loader's data set outlives this object, and Dataset::get() is thread-safe.
  explicit PrefetchLoader(Loader loader, std::size_t alone = 1, std::size_t ahead = 8);

  /// Returns the next batch. Throws what Loader::next() throws, but first returns the batches
  /// before the error.
  Batch next();

  /// The state after the last batch that next() returned, regardless of prefetched batches.
  LoaderState state() const { return state_; }
  /// Continues from a state. Throws as Loader::restore(); after an exception, state() is unchanged.
  void restore(LoaderState state);

 private:
  struct Made {
    std::optional<Batch> batch;  // empty on error
    LoaderState after;
    std::exception_ptr error;
  };

  bool has_thread();
  Made take();  // takes a prefetched batch
  void work(const std::stop_token& stop);
  Made make();
  bool wanted() const;  // whether the thread should make another batch

  Loader loader_;  // only the thread uses it, while there is one
  std::size_t alone_, ahead_;
  LoaderState state_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Made> made_;  // reserved up front, so that push_back() on the thread never allocates
  std::jthread thread_;     // last, so that the thread ends before the other members
};

}  // namespace xgrad

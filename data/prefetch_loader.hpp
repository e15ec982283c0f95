// PrefetchLoader: the batches of a Loader, made ahead while the caller works on others.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <xgrad/data/loader.hpp>

namespace xgrad {

/// Gives what its Loader gives, batch by batch, and stands where that would stand; a thread of its
/// own keeps up to `ahead` batches ready. One caller at a time.
class PrefetchLoader {
 public:
  /// The first `alone` batches are made without a thread: perhaps nobody asks for more.
  /// Requires: the loader's data set outlives this, and its get() may be called on any thread.
  explicit PrefetchLoader(Loader loader, std::size_t alone = 1, std::size_t ahead = 8);
  ~PrefetchLoader();
  PrefetchLoader(const PrefetchLoader&) = delete;

  /// The next batch. Throws as Loader::next(), in its turn: after the batches before.
  Batch next();

  /// Where the caller stands, whatever has been made ahead.
  LoaderState state() const { return state_; }
  /// Goes on from there. Throws as Loader::restore(), and changes nothing then.
  void restore(LoaderState state);

 private:
  struct Made {
    std::optional<Batch> batch;  // none where there is an error
    LoaderState after;
    std::exception_ptr error;
  };

  bool has_thread();
  Made take();  // of those made ahead
  void work();
  Made make();
  bool wanted() const;  // whether the thread has something to do

  Loader loader_;  // the thread's while busy_, else of whoever holds the mutex
  std::size_t alone_, ahead_;
  LoaderState state_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Made> made_;  // of room enough: the thread may not be short of memory
  bool busy_ = false, hold_ = false, stop_ = false;
  std::thread thread_;
};

}  // namespace xgrad

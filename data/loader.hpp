// Loader: the batches of a data set, in an order that any run can take up at any point.
#pragma once

#include <cstdint>
#include <vector>

#include <xgrad/data/batch.hpp>

namespace xgrad {

/// Where a loader stands. With the seed, this is all that its next batch depends on.
struct LoaderState {
  std::uint64_t epoch = 0;     ///< from 0
  std::uint64_t position = 0;  ///< examples of the epoch already given
  /// Whether they are equal.
  friend bool operator==(const LoaderState&, const LoaderState&) = default;
};

/// How a Loader goes through its data.
struct LoaderOptions {
  std::size_t batch = 64;  ///< examples of a batch
  std::uint64_t seed = 1;  ///< of the order
  bool shuffle = false;    ///< each epoch in a random order of its own; else by number
  /// When shuffled: among the examples of so many batches those of similar length go together, so
  /// that little is padded; the batches of an epoch then come in a random order of their own.
  std::size_t bucket = 1;
};

/// Gives every example once an epoch, batch by batch, epoch after epoch. No batch crosses the end
/// of an epoch and no example is left out, so an epoch's last batch may be smaller.
class Loader {
 public:
  /// Requires: the data set outlives the loader. Throws ConfigError when it or the batch is empty.
  Loader(const Dataset& dataset, TaskShape shape, LoaderOptions options);

  /// The next batch. Examples are fetched in parallel; the batch is the same for any number of
  /// threads. Throws DataError, with the state unchanged, when an example does not fit the shape.
  Batch next();

  /// Batches of each epoch, the last of which may be smaller.
  std::size_t batches_per_epoch() const;
  /// Where it stands.
  LoaderState state() const { return state_; }
  /// Goes on from there. Throws DataError when no epoch of this data set has such a position.
  void restore(LoaderState state);

 private:
  std::size_t example_at(std::uint64_t position) const;
  void order_epoch();
  void sort_by_length(std::vector<std::size_t>& order);

  const Dataset* dataset_;
  TaskShape shape_;
  LoaderOptions options_;
  LoaderState state_;
  std::vector<std::size_t> order_;  // of the epoch that ordered_ names, when shuffled
  std::uint64_t ordered_ = 0;
  std::vector<std::size_t> lengths_;  // by example, once they are asked for
  std::vector<Example> examples_;
};

}  // namespace xgrad

// Loader: makes the batches of a data set, in an order that can be resumed at any batch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <xgrad/data/batch.hpp>

namespace xgrad {

/// The position of a loader. With the data set and the options, it determines the next batch.
struct LoaderState {
  std::uint64_t epoch = 0;     ///< current epoch, from 0
  std::uint64_t position = 0;  ///< examples of this epoch already returned or skipped
  std::uint64_t batches = 0;   ///< with a curriculum: batches already returned
  /// Compares all members.
  friend bool operator==(const LoaderState&, const LoaderState&) = default;
};

/// A growing limit on the length of examples: longer examples are skipped.
///
/// The limit of batch b, counted from 0, is
///
///     first + floor((longest - first) min(1, t / batches))  with  t = b - b mod group
///
/// where `longest` is the length of the longest example of the data set.
struct Curriculum {
  std::size_t first = 0;      ///< limit of the first batch; 0: no limit
  std::uint64_t batches = 0;  ///< batches over which the limit grows to `longest`
  std::uint64_t group = 1;    ///< micro-batches of a step; they have the same limit
};

/// Options of a Loader.
struct LoaderOptions {
  std::size_t batch = 64;  ///< examples per batch
  std::uint64_t seed = 1;  ///< seed of the shuffling
  /// Whether each epoch shuffles the examples anew; else they are in order of index.
  bool shuffle = false;
  /// With `shuffle`: sorts the examples of `bucket` consecutive batches by length, which saves
  /// padding. Then shuffles the batches. 1: does not sort.
  std::size_t bucket = 1;
  Curriculum curriculum = {};  ///< skips long examples at first
};

/// Returns every example once per epoch, in batches. An epoch ends with a smaller batch if the
/// examples do not divide evenly; no batch spans two epochs. With a curriculum, an epoch lacks the
/// examples that were too long when their turn came.
class Loader {
 public:
  /// Requires: the data set outlives the loader. Throws ConfigError for an empty data set and for
  /// options.batch = 0. With a curriculum, also for images, and if all examples are longer than
  /// options.curriculum.first.
  Loader(const Dataset& dataset, TaskShape shape, LoaderOptions options);

  /// Returns the next batch. Fetches examples in parallel, with the same result on any number of
  /// threads. Throws DataError, with the state unchanged, if an example does not fit the shape.
  Batch next();

  /// The limit on lengths in the next batch; nothing without a curriculum.
  std::optional<std::size_t> limit() const;
  /// The number of batches per epoch without a curriculum, including a smaller last one.
  std::size_t batches_per_epoch() const;
  /// The position of the next batch.
  LoaderState state() const { return state_; }
  /// Continues from a state. Throws DataError if state.position is not below the data set's size.
  void restore(LoaderState state);

 private:
  void order_epoch(std::uint64_t epoch);
  void find_lengths();
  void sort_by_length(std::vector<std::size_t>& order, std::uint64_t epoch);

  const Dataset* dataset_;
  TaskShape shape_;
  LoaderOptions options_;
  LoaderState state_;
  std::vector<std::size_t> order_;  // with `shuffle`: the examples in the order of epoch `ordered_`
  std::uint64_t ordered_ = 0;
  std::vector<std::size_t> lengths_;  // lengths by example; computed when first needed
  std::vector<Example> examples_;
};

}  // namespace xgrad

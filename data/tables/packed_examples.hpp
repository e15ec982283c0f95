// PackedExamples: examples in memory, stored compactly.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <xgrad/data/dataset.hpp>

namespace xgrad {

/// Examples in the order of add(). Each block of examples shares one array per kind of number. A
/// vector per example would take up to six times the memory if examples are short.
class PackedExamples {
 public:
  /// Appends an example.
  void add(const Example& example);
  /// The number of examples.
  std::size_t size() const { return size_; }
  /// Returns an example. Requires: index < size().
  Example get(std::size_t index) const;
  /// The number of tokens or vectors of an example, found without building it. Requires: index <
  /// size(), and no images.
  std::size_t length(std::size_t index, const TaskShape& shape) const;

 private:
  // All numbers of one kind in a block: one run for each example.
  template <class Number>
  class Runs {
   public:
    // Appends the run of example `row`. Examples skipped before it get empty runs.
    void add(std::size_t row, const std::vector<Number>& run) {
      if (run.empty()) return;
      ends_.resize(row, numbers_.size());
      numbers_.insert(numbers_.end(), run.begin(), run.end());
      ends_.push_back(numbers_.size());
    }
    std::vector<Number> get(std::size_t row) const {
      if (row >= ends_.size()) return {};
      return {numbers_.begin() + std::ptrdiff_t(begin(row)),
              numbers_.begin() + std::ptrdiff_t(ends_[row])};
    }
    std::size_t size(std::size_t row) const {
      return row >= ends_.size() ? 0 : ends_[row] - begin(row);
    }
    void shrink() {
      numbers_.shrink_to_fit();
      ends_.shrink_to_fit();
    }

   private:
    std::size_t begin(std::size_t row) const { return row == 0 ? 0 : ends_[row - 1]; }

    std::vector<Number> numbers_;
    std::vector<std::size_t> ends_;  // where each run ends in numbers_
  };
  struct Block {
    Runs<std::int32_t> ids, targets;
    Runs<float> features, values;
    Runs<std::pair<std::int32_t, std::int32_t>> edges;
  };
  static constexpr std::size_t kRows = 1024;  // examples per block

  std::vector<Block> blocks_;
  std::size_t size_ = 0;
};

}  // namespace xgrad

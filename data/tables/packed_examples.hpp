// PackedExamples: examples that stay in memory, with little beside their numbers.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <xgrad/data/dataset.hpp>

namespace xgrad {

/// Examples in the order in which they were added. Those of a block share one array for each kind
/// of number, where a vector for each would take up to six times the memory of short examples.
class PackedExamples {
 public:
  /// Puts one behind the others.
  void add(const Example& example);
  /// How many there are.
  std::size_t size() const { return size_; }
  /// Requires: index < size().
  Example get(std::size_t index) const;

 private:
  // The numbers of one kind of all examples of a block.
  template <class Number>
  class Runs {
   public:
    // Of the row-th example; those of examples before that were left out are empty.
    void add(std::size_t row, const std::vector<Number>& run) {
      if (run.empty()) return;
      ends_.resize(row, numbers_.size());
      numbers_.insert(numbers_.end(), run.begin(), run.end());
      ends_.push_back(numbers_.size());
    }
    std::vector<Number> get(std::size_t row) const {
      if (row >= ends_.size()) return {};
      const std::size_t begin = row == 0 ? 0 : ends_[row - 1];
      return {numbers_.begin() + std::ptrdiff_t(begin),
              numbers_.begin() + std::ptrdiff_t(ends_[row])};
    }
    void shrink() {
      numbers_.shrink_to_fit();
      ends_.shrink_to_fit();
    }

   private:
    std::vector<Number> numbers_;
    std::vector<std::size_t> ends_;  // of each run in numbers_
  };
  struct Block {
    Runs<std::int32_t> ids, targets;
    Runs<float> features, values;
    Runs<std::pair<std::int32_t, std::int32_t>> edges;
  };
  static constexpr std::size_t kRows = 1024;  // of a block

  std::vector<Block> blocks_;
  std::size_t size_ = 0;
};

}  // namespace xgrad

// Row: treats several tensors as one range, so that one parallel loop covers all of them, small
// ones included. Not installed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/range.hpp>

namespace xgrad {

/// All scalars of a model, for functions that can also do a part of them.
inline constexpr Range kAllScalars{0, std::size_t(-1)};

}  // namespace xgrad

namespace xgrad::detail {

class Row {
 public:
  /// Elements per block, the grain of parallel loops over a row: enough work to be worth a task.
  static constexpr std::size_t kBlock = 8192;

  void clear() { ends_.clear(); }
  void append(std::size_t tensor_size) { ends_.push_back(size() + tensor_size); }
  std::size_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  /// The part of the row that lies in `range`.
  Range part(const Range& range) const {
    return {std::min(range.begin, size()), std::min(range.end, size())};
  }

  /// Calls body(i, first, n) for each tensor i that intersects [begin, end), with the n elements
  /// from `first` that do.
  template <class Body>
  void for_each_run(std::size_t begin, std::size_t end, const Body& body) const {
    std::size_t i = std::upper_bound(ends_.begin(), ends_.end(), begin) - ends_.begin();
    while (begin < end) {
      const std::size_t start = i == 0 ? 0 : ends_[i - 1];
      const std::size_t stop = std::min(end, ends_[i]);
      if (stop > begin) body(i, begin - start, stop - begin);
      begin = stop;
      ++i;
    }
  }

  /// Calls body(i, first, n, at) for each tensor that intersects `range`, as for_each_run(), in
  /// parallel over blocks; `at` is where the n elements begin in the range. Requires: the range
  /// begins at a multiple of kBlock.
  template <class Body>
  void parallel_runs(const Range& range, const Body& body) const {
    const Range own = part(range);
    parallel_for(own.size(), kBlock, [&](std::size_t begin, std::size_t end) {
      std::size_t at = begin;
      for_each_run(own.begin + begin, own.begin + end,
                   [&](std::size_t i, std::size_t first, std::size_t n) {
                     body(i, first, n, at);
                     at += n;
                   });
    });
  }

 private:
  std::vector<std::size_t> ends_;
};

}  // namespace xgrad::detail

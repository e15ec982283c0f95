// FlatParameters: numbers the elements of all tensors consecutively, so that one parallel loop
// covers all tensors, small tensors included.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/range.hpp>

namespace xgrad {

/// The trained scalars of a model that one process handles. Trained scalars are numbered
/// consecutively through all tensors of the model. A part is a list of ascending ranges of these
/// numbers. Each range begins at a multiple of 8192. The part has at most one run of consecutive
/// elements of each tensor. A part without ranges has all scalars.
using ModelPart = std::vector<Range>;

}  // namespace xgrad

namespace xgrad::detail {

class FlatParameters {
 public:
  /// Elements per block. A thread gets whole blocks, because smaller pieces cost more overhead.
  static constexpr std::size_t kBlock = 8192;

  void clear() { ends_.clear(); }
  void append(std::size_t tensor_size) { ends_.push_back(size() + tensor_size); }
  std::size_t count() const { return ends_.size(); }                     ///< number of tensors
  std::size_t size() const { return ends_.empty() ? 0 : ends_.back(); }  ///< number of elements
  /// The ranges of a part; a part without ranges has all elements.
  ModelPart ranges(const ModelPart& part) const {
    return part.empty() ? ModelPart{{0, size()}} : part;
  }
  /// The number of the first scalar of tensor i.
  std::size_t start(std::size_t i) const { return i == 0 ? 0 : ends_[i - 1]; }
  /// The elements of tensor i that belong to a part.
  Range run_of(const ModelPart& part, std::size_t i) const {
    Range run;
    for (const Range& range : ranges(part)) {
      const std::size_t begin = std::max(range.begin, start(i));
      const std::size_t end = std::min(range.end, ends_[i]);
      if (begin < end) run = {run.size() > 0 ? run.begin : begin - start(i), end - start(i)};
    }
    return run;
  }

  /// Calls body(i, first, n) for each tensor i with elements in [begin, end). These are the n
  /// elements of the tensor from element `first` on.
  template <class Body>
  void for_each_run(std::size_t begin, std::size_t end, const Body& body) const {
    std::size_t i = std::upper_bound(ends_.begin(), ends_.end(), begin) - ends_.begin();
    while (begin < end) {
      const std::size_t stop = std::min(end, ends_[i]);
      if (stop > begin) body(i, begin - start(i), stop - begin);
      begin = stop;
      ++i;
    }
  }

  /// The blocks of a part.
  std::vector<Range> blocks(const ModelPart& part) const {
    std::vector<Range> blocks;
    for (const Range& range : ranges(part)) {
      for (std::size_t begin = range.begin; begin < range.end; begin += kBlock) {
        blocks.push_back({begin, std::min(begin + kBlock, range.end)});
      }
    }
    return blocks;
  }
  /// for_each_run() over a part, in parallel over its blocks. Calls body(i, first, n, block) with
  /// the number of the block, from 0.
  template <class Body>
  void parallel_runs(const ModelPart& part, const Body& body) const {
    const std::vector<Range> blocks = this->blocks(part);
    parallel_for(blocks.size(), 1, [&](std::size_t first_block, std::size_t last_block) {
      for (std::size_t block = first_block; block < last_block; ++block) {
        const auto run = [&](std::size_t i, std::size_t first, std::size_t n) {
          body(i, first, n, block);
        };
        for_each_run(blocks[block].begin, blocks[block].end, run);
      }
    });
  }

 private:
  std::vector<std::size_t> ends_;
};

}  // namespace xgrad::detail

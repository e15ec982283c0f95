// Subset: some examples of a data set.
#pragma once

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <xgrad/data/task.hpp>

namespace xgrad {

/// Some examples of a data set, which must outlive it.
class Subset final : public Dataset {
 public:
  /// Those with these indices.
  Subset(const Dataset& all, std::vector<std::size_t> chosen)
      : all_(all), chosen_(std::move(chosen)) {}
  /// The first `count`, or all if there are fewer.
  Subset(const Dataset& all, std::size_t count) : all_(all), chosen_(std::min(count, all.size())) {
    std::iota(chosen_.begin(), chosen_.end(), std::size_t(0));
  }

  std::size_t size() const override { return chosen_.size(); }
  Example get(std::uint64_t epoch, std::size_t index) const override {
    return all_.get(epoch, chosen_[index]);
  }

 private:
  const Dataset& all_;
  std::vector<std::size_t> chosen_;
};

}  // namespace xgrad

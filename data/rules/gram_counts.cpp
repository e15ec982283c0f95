#include <xgrad/data/rules/gram_counts.hpp>

namespace xgrad {

void GramCounts::count(std::uint32_t gram, std::uint32_t with) {
  const std::uint32_t pair = pairs_.add(key(gram, with));
  if (pair == numbers_.size()) numbers_.push_back(0);
  ++numbers_[pair];
  ++counted_;
}

// Groups the counts by n-gram, with a counting sort.
void GramCounts::finish() {
  begins_.assign(grams_.size() + 1, 0);
  for (std::size_t i = 0; i < pairs_.size(); ++i) ++begins_[pairs_.key(i) >> 32];
  for (std::size_t gram = 1; gram < begins_.size(); ++gram) begins_[gram] += begins_[gram - 1];
  counts_.resize(pairs_.size());
  for (std::size_t i = pairs_.size(); i-- > 0;) {  // turns the end of each group into its beginning
    const std::uint64_t pair = pairs_.key(i);
    counts_[--begins_[pair >> 32]] = {std::uint32_t(pair), numbers_[i]};
  }
  pairs_ = {};
  numbers_ = {};
}

std::string name_with_rows(const std::string& name, std::size_t counted, std::size_t rows) {
  if (counted == rows) return name;
  return name + ", counted in " + std::to_string(counted) + " of " + std::to_string(rows) + " rows";
}

}  // namespace xgrad

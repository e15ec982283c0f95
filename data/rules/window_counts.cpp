#include <xgrad/data/rules/window_counts.hpp>

#include <algorithm>
#include <map>

#include <xgrad/data/batch.hpp>

namespace xgrad {

namespace {

using Counts = std::map<std::int32_t, std::size_t>;  // count of each class

std::string window(const Example& example, std::size_t at, std::size_t radius) {
  std::string key;
  for (std::size_t i = at; i <= at + 2 * radius; ++i) {
    const bool inside = i >= radius && i - radius < example.ids.size();
    const std::int32_t id = inside ? example.ids[i - radius] : -1;
    key.append(reinterpret_cast<const char*>(&id), sizeof id);
  }
  return key;
}

std::int32_t most_frequent(const Counts& counts) {
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace

WindowCounts::WindowCounts(const Dataset& train, std::size_t most, std::size_t radius)
    : known_(radius + 1) {
  std::vector<std::unordered_map<std::string, Counts>> seen(radius + 1);
  Counts all;
  for (std::size_t i = 0; i < std::min(most, train.size()); ++i) {
    const Example example = train.get(0, i);
    for (std::size_t k = 0; k < example.targets.size(); ++k) {
      const std::int32_t target = example.targets[k];
      if (target == kIgnore) continue;
      ++all[target];
      for (std::size_t r = 0; r <= radius; ++r) ++seen[r][window(example, k, r)][target];
    }
  }
  for (std::size_t r = 0; r <= radius; ++r) {
    for (const auto& [key, counts] : seen[r]) known_[r][key] = xgrad::most_frequent(counts);
  }
  if (!all.empty()) most_frequent_ = xgrad::most_frequent(all);
}

std::int32_t WindowCounts::guess(const Example& example, std::size_t at, std::size_t radius) const {
  for (std::size_t r = radius + 1; r-- > 0;) {
    const auto found = known_[r].find(window(example, at, r));
    if (found != known_[r].end()) return found->second;
  }
  return *most_frequent_;
}

}  // namespace xgrad

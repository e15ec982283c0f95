#include <xgrad/autograd/nearest.hpp>

#include <algorithm>

namespace xgrad {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows of the table d(i, j), the distance between the first i letters of a and the first j of b.
  std::vector<std::size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = last;
    last = row;
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool differ = a[i - 1] != b[j - 1];
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + differ});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::vector<std::string> nearest_first(std::string_view name, std::vector<std::string> candidates) {
  std::stable_sort(candidates.begin(), candidates.end(), [&](const auto& a, const auto& b) {
    return edit_distance(name, a) < edit_distance(name, b);
  });
  return candidates;
}

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  if (candidates.empty()) return "";
  std::string best = nearest_first(name, candidates).front();
  const std::size_t allowed = std::max<std::size_t>(1, std::max(name.size(), best.size()) / 3);
  return edit_distance(name, best) <= allowed ? best : "";
}

}  // namespace xgrad

#include <xgrad/train/logs/histogram.hpp>

#include <algorithm>
#include <limits>

namespace xgrad {

namespace {

const std::vector<double>& all_limits() {
  static const std::vector<double> limits = [] {
    std::vector<double> all{0, std::numeric_limits<double>::max()};
    for (double x = 1e-12; x < 1e20; x *= 1.1) all.push_back(x);
    for (std::size_t i = 1, n = all.size(); i < n; ++i) all.push_back(-all[i]);
    std::sort(all.begin(), all.end());
    return all;
  }();
  return limits;
}

}  // namespace

template <class T>
Histogram histogram(const T* x, std::size_t count) {
  Histogram h;
  if (count == 0) return h;
  const std::vector<double>& limits = all_limits();
  std::vector<double> counts(limits.size(), 0);
  h.count = count;
  h.min = h.max = double(x[0]);
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = double(x[i]);
    h.min = std::min(h.min, value);
    h.max = std::max(h.max, value);
    h.sum += value;
    h.sum_squares += value * value;
    const auto bucket = std::upper_bound(limits.begin(), limits.end(), value) - limits.begin();
    ++counts[std::min(std::size_t(bucket), counts.size() - 1)];
  }
  const auto filled = [](double n) { return n > 0; };
  auto begin = std::find_if(counts.begin(), counts.end(), filled) - counts.begin();
  const auto end = counts.rend() - std::find_if(counts.rbegin(), counts.rend(), filled);
  if (begin > 0) --begin;  // an empty bucket in front gives the lower limit of the first one
  h.limits.assign(limits.begin() + begin, limits.begin() + end);
  h.counts.assign(counts.begin() + begin, counts.begin() + end);
  return h;
}

template Histogram histogram(const float*, std::size_t);
template Histogram histogram(const double*, std::size_t);

}  // namespace xgrad

#include <xgrad/train/metrics/estimates.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace xgrad {

std::string figure_text(double value, double standard_error) {
  return fmt::format("{:.4f}", value) +
         (std::isfinite(standard_error) ? fmt::format(" ± {:.4f}", standard_error) : "");
}

void RatioMean::add(double x, double n) {
  samples_ += 1;
  x_ += x;
  n_ += n;
  xx_ += x * x;
  xn_ += x * n;
  nn_ += n * n;
}

void RatioMean::add(const RatioMean& other) {
  const std::vector<double> numbers = to_numbers(other);
  auto number = numbers.begin();
  visit([&](double& own) { own += *number++; });
}

double RatioMean::mean() const {
  return n_ == 0 ? 0 : x_ / n_;
}

double RatioMean::standard_error() const {
  if (samples_ < 2 || n_ == 0) return std::numeric_limits<double>::quiet_NaN();
  const double r = mean();
  const double squares = std::max(0.0, xx_ - 2 * r * xn_ + r * r * nn_);
  return std::sqrt(samples_ / (samples_ - 1) * squares) / n_;
}

void RSquared::begin_sample(std::size_t components) {
  shift_.resize(components, std::numeric_limits<double>::quiet_NaN());
  sums_.resize(sums_.size() + components);
  errors_.push_back(0);
}

void RSquared::add(std::size_t component, double prediction, double target) {
  double& shift = shift_[component];
  if (std::isnan(shift)) shift = target;
  Sums& sums = sums_[sums_.size() - shift_.size() + component];
  const double y = target - shift;
  sums.n += 1;
  sums.y += y;
  sums.yy += y * y;
  errors_.back() += (target - prediction) * (target - prediction);
}

// With d = own shift - other shift, y - own shift = (y - other shift) - d.
void RSquared::add(const RSquared& other) {
  if (shift_.empty()) shift_ = other.shift_;
  const std::size_t k = shift_.size();
  for (std::size_t i = 0; i < other.sums_.size(); ++i) {
    Sums sums = other.sums_[i];
    double& shift = shift_[i % k];
    if (std::isnan(shift)) shift = other.shift_[i % k];
    const double d = shift - other.shift_[i % k];
    if (sums.n > 0) {
      sums.yy += d * (d * sums.n - 2 * sums.y);
      sums.y -= d * sums.n;
    }
    sums_.push_back(sums);
  }
  errors_.insert(errors_.end(), other.errors_.begin(), other.errors_.end());
}

double RSquared::value() const {
  const RatioMean errors = ratio();
  return errors.count() == 0 ? std::numeric_limits<double>::quiet_NaN() : 1 - errors.mean();
}

RatioMean RSquared::ratio() const {
  const std::size_t k = shift_.size();
  std::vector<Sums> total(k);
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    total[i % k].n += sums_[i].n;
    total[i % k].y += sums_[i].y;
  }
  RatioMean ratio;
  for (std::size_t s = 0; s < errors_.size(); ++s) {
    double squares = 0;  // about the means
    for (std::size_t i = 0; i < k; ++i) {
      const Sums& own = sums_[s * k + i];
      if (own.n == 0) continue;
      const double mean = total[i].y / total[i].n;
      squares += own.yy - 2 * mean * own.y + mean * mean * own.n;
    }
    ratio.add(errors_[s], squares);
  }
  return ratio;
}

}  // namespace xgrad

#include <xgrad/train/metrics.hpp>

#include <algorithm>
#include <cmath>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/data/batch.hpp>

namespace xgrad {

void RatioMean::add(double x, double n) {
  samples_ += 1;
  x_ += x;
  n_ += n;
  xx_ += x * x;
  xn_ += x * n;
  nn_ += n * n;
}

double RatioMean::mean() const {
  return n_ == 0 ? 0 : x_ / n_;
}

double RatioMean::standard_error() const {
  if (samples_ < 2 || n_ == 0) return 0;
  const double r = mean();
  const double squares = std::max(0.0, xx_ - 2 * r * xn_ + r * r * nn_);
  return std::sqrt(samples_ / (samples_ - 1) * squares) / n_;
}

template <class T>
void Metrics::add(const Tensor<T>& logits, const Ids& targets) {
  const std::size_t samples = targets.shape()[0];
  const std::size_t rows = samples == 0 ? 0 : targets.size() / samples;
  const std::size_t classes = logits.shape().back();
  const T* row = logits.data();
  const std::int32_t* target = targets.data();
  for (std::size_t s = 0; s < samples; ++s) {
    double loss_sum = 0, right = 0, count = 0;
    for (std::size_t i = 0; i < rows; ++i, row += classes, ++target) {
      if (*target == kIgnore) continue;
      const T* const largest = std::max_element(row, row + classes);
      double sum = 0;
      for (std::size_t c = 0; c < classes; ++c) sum += std::exp(double(row[c] - *largest));
      loss_sum += std::log(sum) + double(*largest - row[*target]);
      right += largest - row == *target;
      count += 1;
    }
    if (count == 0) continue;
    loss.add(loss_sum, count);
    accuracy.add(right, count);
    exact.add(right == count ? 1 : 0, 1);
  }
}

template <class T>
Ids argmax(const Tensor<T>& logits) {
  const std::size_t classes = logits.shape().back();
  const Shape shape(logits.shape().begin(), logits.shape().end() - 1);
  Ids best = empty<std::int32_t>(shape);
  for (std::size_t i = 0; i < best.size(); ++i) {
    const T* row = logits.data() + i * classes;
    best.data()[i] = std::int32_t(std::max_element(row, row + classes) - row);
  }
  return best;
}

std::size_t count_targets(const Ids& targets) {
  return std::size_t(std::count_if(targets.data(), targets.data() + targets.size(),
                                   [](std::int32_t t) { return t != kIgnore; }));
}

#define XGRAD_INSTANTIATE(T)                                \
  template void Metrics::add(const Tensor<T>&, const Ids&); \
  template Ids argmax(const Tensor<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

#include <xgrad/train/metrics/metrics.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <xgrad/autograd/portable_math.hpp>

namespace xgrad {

namespace {

// The loss of one output, as the op of the objective defines it.
double loss_of(const Objective& objective, double x, double y) {
  const double d = std::fabs(x - y);
  switch (objective.loss) {
    case Loss::binary_cross_entropy:
      return std::max(x, 0.0) - x * y + portable::log1p(portable::exp(-std::fabs(x)));
    case Loss::mae:
      return d;
    case Loss::huber: {
      const double delta = objective.huber_delta;
      return d <= delta ? d * d / 2 : delta * (d - delta / 2);
    }
    default:
      return d * d;
  }
}

}  // namespace

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

template <class T>
void Metrics::add(const Tensor<T>& logits, const Ids& targets) {
  const std::size_t samples = targets.shape()[0];
  const std::size_t rows = samples == 0 ? 0 : targets.size() / samples;
  const std::size_t classes = logits.shape().back();
  const T* row = logits.data();
  const std::int32_t* own = targets.data();
  for (std::size_t s = 0; s < samples; ++s) {
    double loss_sum = 0, right = 0, count = 0;
    for (std::size_t i = 0; i < rows; ++i, row += classes, ++own) {
      if (*own == kIgnore) continue;
      const T* const largest = std::max_element(row, row + classes);
      double sum = 0;
      for (std::size_t c = 0; c < classes; ++c) sum += portable::exp(double(row[c] - *largest));
      loss_sum += portable::log(sum) + double(*largest - row[*own]);
      right += largest - row == *own;
      count += 1;
    }
    if (count == 0) continue;
    loss.add(loss_sum, count);
    accuracy.add(right, count);
    exact.add(right == count ? 1 : 0, 1);
  }
}

template <class T>
void Metrics::add(const Tensor<T>& outputs, const Batch& batch, const Objective& objective) {
  if (objective.loss == Loss::cross_entropy) {
    next = objective.next;
    return add(outputs, batch.targets);
  }
  const bool binary = objective.loss == Loss::binary_cross_entropy;
  target = binary ? TargetKind::binary : TargetKind::numbers;
  const std::size_t size = outputs.size() / batch.size, components = outputs.shape().back();
  for (std::size_t s = 0; s < batch.size; ++s) {
    double count = 0, losses = 0, right = 0, distances = 0, squares = 0;
    if (!binary) r2.begin_sample(components);
    for (std::size_t i = s * size; i < (s + 1) * size; ++i) {
      if (batch.valid && batch.valid->data()[i] == 0) continue;
      const double x = double(outputs.data()[i]), y = double(batch.values.data()[i]);
      count += 1;
      losses += loss_of(objective, x, y);
      right += (x > 0) == (y > 0.5);
      distances += std::fabs(y - x);
      squares += (y - x) * (y - x);
      if (!binary) r2.add(i % components, x, y);
    }
    if (count == 0) continue;
    loss.add(losses, count);
    if (binary) {
      accuracy.add(right, count);
      exact.add(right == count ? 1 : 0, 1);
    } else {
      absolute.add(distances, count);
      squared.add(squares, count);
    }
  }
}

void Metrics::add(const Metrics& other) {
  if (other.loss.count() > 0) {
    target = other.target;
    next = other.next;
  }
  for (const auto mean : {&Metrics::loss, &Metrics::accuracy, &Metrics::exact, &Metrics::absolute,
                          &Metrics::squared}) {
    (this->*mean).add(other.*mean);
  }
  r2.add(other.r2);
}

std::vector<Figure> Metrics::figures() const {
  std::vector<Figure> all = {{"loss", loss.mean(), loss.standard_error()}};
  if (target == TargetKind::numbers) {
    const double rmse = std::sqrt(squared.mean());
    all.push_back({"r2", r2.value(), r2.standard_error(), /*higher_is_better=*/true});
    all.push_back({"mae", absolute.mean(), absolute.standard_error()});
    all.push_back({"rmse", rmse, squared.standard_error() / (rmse == 0 ? 1 : 2 * rmse)});
    return all;
  }
  all.push_back(
      {"accuracy", accuracy.mean(), accuracy.standard_error(), /*higher_is_better=*/true});
  all.push_back({"exact_match", exact.mean(), exact.standard_error(), /*higher_is_better=*/true});
  if (target == TargetKind::classes) {
    const double perplexity = portable::exp(loss.mean());
    all.push_back({"perplexity", perplexity, perplexity * loss.standard_error()});
  }
  if (next != NextToken::none) {
    all.push_back({next == NextToken::character ? "bits_per_character" : "bits_per_word",
                   loss.mean() / std::numbers::ln2, loss.standard_error() / std::numbers::ln2});
  }
  return all;
}

template <class T>
void ClassReport::add(const Tensor<T>& logits, const Ids& targets) {
  confusion_.resize(classes() * classes());
  const std::size_t samples = targets.shape()[0];
  const std::size_t rows = samples == 0 ? 0 : targets.size() / samples;
  for (std::size_t s = 0; s < samples; ++s) {
    Sample sample;
    for (std::size_t i = s * rows; i < (s + 1) * rows; ++i) {
      if (targets.data()[i] == kIgnore) continue;
      const T* row = logits.data() + i * classes();  // its largest logit, as in Metrics
      const auto target = std::size_t(targets.data()[i]),
                 guess = std::size_t(std::max_element(row, row + classes()) - row);
      ++confusion_[target * classes() + guess];
      count(sample, target, true, target == guess);
      if (target != guess) count(sample, guess, false, true);
    }
    end_sample(sample);
  }
}

template <class T>
void ClassReport::add(const Tensor<T>& outputs, const Batch& batch) {
  if (batch.targets.dimension() > 0) return add(outputs, batch.targets);
  const std::size_t size = outputs.size() / batch.size;
  for (std::size_t s = 0; s < batch.size; ++s) {
    Sample sample;
    for (std::size_t i = s * size; i < (s + 1) * size; ++i) {
      if (batch.valid && batch.valid->data()[i] == 0) continue;
      count(sample, i % classes(), batch.values.data()[i] > 0.5f, outputs.data()[i] > 0);
    }
    end_sample(sample);
  }
}

void ClassReport::count(Sample& sample, std::size_t c, bool target, bool guess) {
  if (!target && !guess) return;
  auto own = std::ranges::find(sample, c, &Counts::c);
  if (own == sample.end()) own = sample.insert(own, {.c = c});
  own->targets += target;
  own->guesses += guess;
  own->both += target && guess;
}

void ClassReport::end_sample(Sample& sample) {
  for (const Counts& own : sample) {
    Class& of = classes_[own.c];
    if (own.guesses > 0) of.precision.add(own.both, own.guesses);
    if (own.targets > 0) of.recall.add(own.both, own.targets);
    of.f1.add(2 * own.both, own.guesses + own.targets);
  }
  if (!sample.empty()) samples_.push_back(std::move(sample));
}

void ClassReport::add(const ClassReport& other) {
  classes_.resize(std::max(classes(), other.classes()));
  for (std::size_t c = 0; c < other.classes(); ++c) {
    for (const auto mean : {&Class::precision, &Class::recall, &Class::f1}) {
      (classes_[c].*mean).add(other.classes_[c].*mean);
    }
  }
  confusion_.resize(std::max(confusion_.size(), other.confusion_.size()));
  for (std::size_t i = 0; i < other.confusion_.size(); ++i) confusion_[i] += other.confusion_[i];
  samples_.insert(samples_.end(), other.samples_.begin(), other.samples_.end());
}

// To first order a sample changes the F1 of class c by (2 both - F1 (guesses + targets)) / sum
// (guesses + targets), as in RatioMean, and macro F1 by the mean of these.
Figure ClassReport::macro_f1() const {
  double sum = 0, occurring = 0;
  for (const Class& of : classes_) {
    sum += of.f1.mean();
    occurring += of.f1.count() > 0;
  }
  double squares = 0;
  for (const Sample& sample : samples_) {
    double moved = 0;
    for (const Counts& own : sample) {
      const RatioMean& f1 = classes_[own.c].f1;
      moved += (2 * own.both - f1.mean() * (own.guesses + own.targets)) / f1.count() / occurring;
    }
    squares += moved * moved;
  }
  const auto n = double(samples_.size());
  return {"macro_f1", occurring == 0 ? 0 : sum / occurring,
          n < 2 ? std::numeric_limits<double>::quiet_NaN() : std::sqrt(n / (n - 1) * squares),
          /*higher_is_better=*/true};
}

#define XGRAD_INSTANTIATE(T)                                                    \
  template void Metrics::add(const Tensor<T>&, const Ids&);                     \
  template void Metrics::add(const Tensor<T>&, const Batch&, const Objective&); \
  template void ClassReport::add(const Tensor<T>&, const Ids&);                 \
  template void ClassReport::add(const Tensor<T>&, const Batch&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

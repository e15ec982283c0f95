#include <xgrad/train/metrics/metrics.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <xgrad/autograd/kernels/portable_math.hpp>

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

Figure figure(const char* name, const RatioMean& mean) {
  return {name, mean.mean(), mean.standard_error()};
}

}  // namespace

template <class T>
void Metrics::add(const Tensor<T>& logits, const Ids& targets) {
  target = TargetKind::classes;
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
void Metrics::add_values(const Tensor<T>& outputs, const Batch& batch, const Objective& objective) {
  const std::size_t size = outputs.size() / batch.size, components = outputs.shape().back();
  const bool binary = target == TargetKind::binary;
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

template <class T>
void Metrics::add(const Tensor<T>& outputs, const Batch& batch, const Objective& objective) {
  if (objective.loss == Loss::cross_entropy) {
    add(outputs, batch.targets);
    next = objective.next;
  } else {
    target =
        objective.loss == Loss::binary_cross_entropy ? TargetKind::binary : TargetKind::numbers;
    add_values(outputs, batch, objective);
  }
}

void Metrics::add(const Metrics& other) {
  if (other.loss.count() > 0) {
    target = other.target;
    next = other.next;
  }
  loss.add(other.loss);
  accuracy.add(other.accuracy);
  exact.add(other.exact);
  absolute.add(other.absolute);
  squared.add(other.squared);
  r2.add(other.r2);
}

std::vector<Figure> Metrics::figures() const {
  std::vector<Figure> all = {figure("loss", loss)};
  if (target == TargetKind::numbers) {
    const double rmse = std::sqrt(squared.mean());
    all.push_back({"r2", r2.value(), r2.standard_error()});
    all.push_back(figure("mae", absolute));
    all.push_back({"rmse", rmse, squared.standard_error() / (rmse == 0 ? 1 : 2 * rmse)});
    return all;
  }
  all.push_back(figure("accuracy", accuracy));
  all.push_back(figure("exact_match", exact));
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
      const T* row = logits.data() + i * classes();  // its largest as Metrics has it
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
  auto own =
      std::find_if(sample.begin(), sample.end(), [c](const Counts& known) { return known.c == c; });
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
    classes_[c].precision.add(other.classes_[c].precision);
    classes_[c].recall.add(other.classes_[c].recall);
    classes_[c].f1.add(other.classes_[c].f1);
  }
  confusion_.resize(std::max(confusion_.size(), other.confusion_.size()));
  for (std::size_t i = 0; i < other.confusion_.size(); ++i) confusion_[i] += other.confusion_[i];
  samples_.insert(samples_.end(), other.samples_.begin(), other.samples_.end());
}

std::uint64_t ClassReport::confusion(std::size_t target, std::size_t guess) const {
  return confusion_[target * classes() + guess];
}

// To first order a sample changes the F1 of class c by (2 both - F1 (guesses + targets)) / sum
// (guesses + targets), as in RatioMean, and macro F1 by the mean of these.
Figure ClassReport::macro_f1() const {
  double sum = 0, occurring = 0;
  for (const Class& of : classes_) {
    if (of.f1.count() == 0) continue;
    sum += of.f1.mean();
    occurring += 1;
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
          n < 2 ? std::numeric_limits<double>::quiet_NaN() : std::sqrt(n / (n - 1) * squares)};
}

#define XGRAD_INSTANTIATE(T)                                                    \
  template void Metrics::add(const Tensor<T>&, const Ids&);                     \
  template void Metrics::add(const Tensor<T>&, const Batch&, const Objective&); \
  template void ClassReport::add(const Tensor<T>&, const Ids&);                 \
  template void ClassReport::add(const Tensor<T>&, const Batch&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

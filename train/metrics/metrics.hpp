// Estimates from samples, each with a standard error. Metrics: means over targets. ClassReport:
// confusion matrix, precision, recall and F1 of a classifier. evaluate(): metrics of a data set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/autograd/range.hpp>
#include <xgrad/data/loader.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/model/objective.hpp>

namespace xgrad {

/// Calls f with the integer `whole` as a double, so that f can save or restore the integer.
template <class F, class Whole>
void visit_whole(const F& f, Whole& whole) {
  double number = double(whole);
  f(number);
  whole = Whole(number);
}
/// Visits the size of a list, then each of its elements.
template <class F, class List, class Each>
void visit_list(const F& f, List& list, const Each& visit_each) {
  std::size_t size = list.size();
  visit_whole(f, size);
  list.resize(size);
  for (auto& each : list) visit_each(each);
}

/// All numbers that sums.visit() visits.
template <class Sums>
std::vector<double> to_numbers(Sums sums) {
  std::vector<double> numbers;
  sums.visit([&](double number) { numbers.push_back(number); });
  return numbers;
}
/// Reads sums from the numbers that begin at `at`, and moves `at` past them.
template <class Sums>
Sums from_numbers(const std::vector<double>& numbers, std::size_t& at) {
  Sums sums;
  sums.visit([&](double& number) { number = numbers[at++]; });
  return sums;
}

/// A named number with its standard error over samples.
struct Figure {
  std::string name;               ///< "accuracy"
  double value = 0;               ///< the number
  double standard_error = 0;      ///< NaN if it is not known
  bool higher_is_better = false;  ///< true of accuracy, false of loss
};

/// The value and its standard error, as "0.9934 ± 0.0002"; an error that is not finite is left out.
std::string figure_text(double value, double standard_error);

/// The mean per target over independent samples: sum x / sum n, where x is the sum of the values of
/// a sample and n the number of its targets. Targets of one sample may depend on each other.
///
/// Its standard error is the one of a ratio estimator over samples (Cochran 1977, 6.4). With ratio
/// r and S samples it is sqrt(S / (S - 1) sum (x - r n)^2) / sum n; NaN for fewer than two samples.
class RatioMean {
 public:
  /// Adds a sample: the sum `x` of its values and the number `n` of its targets.
  void add(double x, double n);

  double mean() const;                 ///< sum x / sum n; 0 before the first sample
  double standard_error() const;       ///< standard error of the mean
  double count() const { return n_; }  ///< number of targets so far

  void add(const RatioMean& other);  ///< adds all samples of `other`
  /// Calls f(number) for each of its numbers, to save or restore the number.
  template <class F>
  void visit(const F& f) {
    for (double* number : {&samples_, &x_, &n_, &xx_, &xn_, &nn_}) f(*number);
  }

 private:
  double samples_ = 0, x_ = 0, n_ = 0, xx_ = 0, xn_ = 0, nn_ = 0;
};

/// R^2 = 1 - sum (y - x)^2 / sum_k sum (y_k - mean of y_k)^2 for predictions x of targets y with K
/// components. Components thus count in proportion to their variance. NaN if no target varies.
///
/// The delta method gives the standard error of this ratio. It treats the means in the denominator
/// as exact: the denominator is smallest at the means, so small errors of the means change it only
/// to second order.
class RSquared {
 public:
  /// Starts the next sample. `components` is K, equal for all samples.
  void begin_sample(std::size_t components);
  /// Adds a target of the sample and its prediction.
  void add(std::size_t component, double prediction, double target);

  /// Adds the samples of another R^2 with the same number of components.
  void add(const RSquared& other);
  /// Calls f(number) for each of its numbers, to save or restore the number.
  template <class F>
  void visit(const F& f) {
    visit_list(f, shift_, f);
    visit_list(f, sums_, [&](Sums& sums) {
      for (double* number : {&sums.n, &sums.y, &sums.yy}) f(*number);
    });
    visit_list(f, errors_, f);
  }

  double value() const;                                               ///< R^2 of all targets so far
  double standard_error() const { return ratio().standard_error(); }  ///< standard error of R^2

 private:
  struct Sums {
    double n = 0, y = 0, yy = 0;  // number, sum and sum of squares of the targets - shift_
  };
  RatioMean ratio() const;

  // First target of each component, subtracted to avoid cancellation in the sums.
  std::vector<double> shift_;
  std::vector<Sums> sums_;      // K per sample
  std::vector<double> errors_;  // sum (y - x)^2 per sample
};

/// Metrics of a split or a batch. Sums are in double, in the order of the samples.
struct Metrics {
  TargetKind target = TargetKind::classes;  ///< kind of the targets
  NextToken next = NextToken::none;         ///< TaskShape::next of the task
  RatioMean loss = {};      ///< loss per target, without label smoothing; cross-entropy in nats
  RatioMean accuracy = {};  ///< for classes and yes-or-no targets
  RatioMean exact = {};     ///< fraction of samples with all targets right
  RatioMean absolute = {};  ///< |y - x|, for numbers
  RatioMean squared = {};   ///< (y - x)^2, for numbers
  RSquared r2 = {};         ///< for numbers

  /// Adds logits (B, N, V) with targets (B, N), or (B, V) with (B). Targets equal to kIgnore are
  /// skipped.
  template <class T>
  void add(const Tensor<T>& logits, const Ids& targets);
  /// Adds outputs of any kind with the targets of their batch.
  template <class T>
  void add(const Tensor<T>& outputs, const Batch& batch, const Objective& objective);

  /// Adds the samples of other metrics, for example of another part of the same split or batch.
  void add(const Metrics& other);
  /// Calls f(number) for each number, to save or restore the number.
  template <class F>
  void visit(const F& f) {
    visit_whole(f, target);
    visit_whole(f, next);
    for (RatioMean* mean : {&loss, &accuracy, &exact, &absolute, &squared}) mean->visit(f);
    r2.visit(f);
  }

  /// Returns the metrics that fit the kind of target, loss first and the most important second.
  /// Classes: loss, accuracy, exact_match and perplexity = exp(loss); for language models also
  /// bits_per_character or bits_per_word = loss / ln 2; yes or no: loss, accuracy and exact_match;
  /// numbers: loss, r2, mae and rmse. The delta method gives the standard errors of functions of
  /// means, such as perplexity.
  std::vector<Figure> figures() const;
};

/// A confusion matrix with precision, recall and F1 of each class; for yes-or-no targets there is
/// no matrix. `targets` counts the targets of class c, `guesses` the predictions of c, and `both`
/// the targets of c that were predicted as c. For yes-or-no targets, class c is a yes at output c.
/// Then, for each class,
///
///     precision = both / guesses, recall = both / targets, F1 = 2 both / (guesses + targets)
///
/// Each is 0 if its denominator is 0, as with scikit-learn's zero_division=0. All three are ratios
/// of sums over samples, so RatioMean gives their standard errors.
class ClassReport {
 public:
  /// Starts an empty report for this number of classes.
  explicit ClassReport(std::size_t classes = 0) : classes_(classes) {}

  /// Adds logits with targets; see Metrics::add().
  template <class T>
  void add(const Tensor<T>& logits, const Ids& targets);
  /// Adds outputs with the targets of their batch: classes, or yes or no for each output.
  template <class T>
  void add(const Tensor<T>& outputs, const Batch& batch);
  /// Adds the samples of another report, such as the report of another part of the same split.
  void add(const ClassReport& other);
  /// Calls f(number) for each number, to save or restore the number.
  template <class F>
  void visit(const F& f) {
    visit_list(f, classes_, [&f](Class& of) {
      for (RatioMean* mean : {&of.precision, &of.recall, &of.f1}) mean->visit(f);
    });
    visit_list(f, confusion_, [&f](std::uint64_t& count) { visit_whole(f, count); });
    visit_list(f, samples_, [&f](Sample& sample) {
      visit_list(f, sample, [&f](Counts& own) {
        visit_whole(f, own.c);
        for (double* number : {&own.both, &own.guesses, &own.targets}) f(*number);
      });
    });
  }

  std::size_t classes() const { return classes_.size(); }  ///< number of classes
  /// Whether there is a confusion matrix. Yes-or-no targets have none.
  bool has_confusion() const { return !confusion_.empty(); }
  /// Number of targets of class `target` that were predicted as `guess`. Requires: has_confusion().
  std::uint64_t confusion(std::size_t target, std::size_t guess) const {
    return confusion_[target * classes() + guess];
  }
  /// Fraction of the predictions of class c that are right.
  const RatioMean& precision(std::size_t c) const { return classes_[c].precision; }
  /// Fraction of the targets of class c that were predicted as c.
  const RatioMean& recall(std::size_t c) const { return classes_[c].recall; }
  const RatioMean& f1(std::size_t c) const { return classes_[c].f1; }  ///< F1 of class c
  Figure macro_f1() const;  ///< the mean F1 over the classes that occur as targets or predictions

 private:
  struct Counts {
    std::size_t c = 0;
    double both = 0, guesses = 0, targets = 0;
  };
  using Sample = std::vector<Counts>;  // counts of the classes that occur in the sample
  struct Class {
    RatioMean precision, recall, f1;
  };
  static void count(Sample& sample, std::size_t c, bool target, bool guess);
  void end_sample(Sample& sample);

  std::vector<Class> classes_;
  std::vector<std::uint64_t> confusion_ = {};  // (classes, classes): row target, column guess
  std::vector<Sample> samples_ = {};
};

/// Some examples of a data set. The data set must outlive the subset.
class Subset final : public Dataset {
 public:
  /// The examples with these indices.
  Subset(const Dataset& all, std::vector<std::size_t> chosen)
      : all_(all), chosen_(std::move(chosen)) {}
  /// The first `count` examples, or all if there are fewer.
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

/// Settings of one pass over a data set, in order and without dropout.
struct Pass {
  const Dataset& dataset;                ///< the examples
  const TaskShape& shape;                ///< shape of the task
  std::size_t batch;                     ///< batch size
  Context context = {};                  ///< context to call the model with
  std::function<bool()> break_off = {};  ///< called before each batch; true ends the pass early
  Range batches = {0, std::size_t(-1)};  ///< numbers of the batches to run; default: all
};

/// Calls see(outputs, batch) for every batch. Returns false if `break_off` ended the pass early.
template <class T, class See>
bool for_each_output(const SequenceModel<T>& model, const Pass& pass, const See& see) {
  const NoGrad no_grad;
  Loader loader(pass.dataset, pass.shape, {.batch = pass.batch});
  const std::size_t end = std::min(pass.batches.end, loader.batches_per_epoch());
  if (pass.batches.begin > 0 && pass.batches.begin < end) {
    loader.restore({.position = pass.batches.begin * pass.batch});
  }
  for (std::size_t i = pass.batches.begin; i < end; ++i) {
    if (pass.break_off && pass.break_off()) return false;
    const Batch batch = loader.next();
    see(model(BatchInput<T>(batch).input(), pass.context).value(), batch);
  }
  return true;
}

/// Returns loss and metrics over all batches.
template <class T>
Metrics evaluate(const SequenceModel<T>& model, const Pass& pass, const Objective& objective) {
  Metrics metrics;
  for_each_output(model, pass, [&](const Tensor<T>& outputs, const Batch& batch) {
    metrics.add(outputs, batch, objective);
  });
  return metrics;
}

}  // namespace xgrad

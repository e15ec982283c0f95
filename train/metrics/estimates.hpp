// Estimates from samples, each with a standard error.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace xgrad {

/// Calls f(number) with a whole number, to write or to read it.
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
/// Makes sums of the numbers from `at` on, and moves `at` behind them.
template <class Sums>
Sums from_numbers(const std::vector<double>& numbers, std::size_t& at) {
  Sums sums;
  sums.visit([&](double& number) { number = numbers[at++]; });
  return sums;
}

/// A named number with its standard error.
struct Figure {
  std::string name;           ///< name of the metric
  double value = 0;           ///< its value
  double standard_error = 0;  ///< standard error over samples
};

/// The value and its standard error, as "0.9934 ± 0.0002"; the value alone if the standard error is
/// not finite, because there is none or the value is infinite.
std::string figure_text(double value, double standard_error);

/// The mean per target, sum x / sum n, over independent samples; targets of one sample may depend
/// on each other.
///
/// Its standard error is that of a ratio estimator over samples (Cochran 1977, 6.4). With ratio r
/// and S samples it is sqrt(S / (S - 1) sum (x - r n)^2) / sum n; NaN for fewer than two samples.
class RatioMean {
 public:
  /// Adds a sample: the sum `x` of its values and the number `n` of its targets.
  void add(double x, double n);

  double mean() const;  ///< sum x / sum n; 0 before the first sample
  /// Standard error of the mean.
  double standard_error() const;
  /// Number of targets so far.
  double count() const { return n_; }

  /// Adds the samples of another mean of the same kind.
  void add(const RatioMean& other);
  /// Calls f(number) for each of its numbers, to write or to read them.
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
/// The standard error is that of the ratio, by the delta method. The means minimise the sum in the
/// denominator, so to first order that sum does not depend on them.
class RSquared {
 public:
  /// Starts the next sample. `components` is K, equal for all samples.
  void begin_sample(std::size_t components);
  /// Adds a target of the sample and its prediction.
  void add(std::size_t component, double prediction, double target);

  /// Adds the samples of another R^2 with the same number of components.
  void add(const RSquared& other);
  /// Calls f(number) for each of its numbers, to write or to read them.
  template <class F>
  void visit(const F& f) {
    visit_list(f, shift_, f);
    visit_list(f, sums_, [&](Sums& sums) {
      for (double* number : {&sums.n, &sums.y, &sums.yy}) f(*number);
    });
    visit_list(f, errors_, f);
  }

  /// R^2 of all targets so far.
  double value() const;
  /// Standard error of R^2.
  double standard_error() const { return ratio().standard_error(); }

 private:
  struct Sums {
    double n = 0, y = 0, yy = 0;  // of the targets minus `shift_`
  };
  RatioMean ratio() const;

  // First target of each component, subtracted to avoid cancellation in the sums.
  std::vector<double> shift_;
  std::vector<Sums> sums_;      // K per sample
  std::vector<double> errors_;  // sum (y - x)^2 per sample
};

}  // namespace xgrad

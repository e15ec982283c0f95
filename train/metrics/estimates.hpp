// Estimates from samples, each with its standard error.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace xgrad {

/// One number of a report.
struct Figure {
  std::string name;           ///< in words
  double value = 0;           ///< the number
  double standard_error = 0;  ///< of it, over samples
};

/// A mean over targets whose samples are independent but whose targets within a sample are not: sum
/// x / sum n.
///
/// The standard error is that of a ratio estimator over samples: with r the ratio and S samples,
/// sqrt(S / (S - 1) sum (x - r n)^2) / sum n (Cochran 1977, 6.4); 0 for fewer than two samples.
class RatioMean {
 public:
  /// One sample: the sum of its values and the number of its targets.
  void add(double x, double n);

  double mean() const;  ///< x by n; 0 before anything was added.
  /// Of the mean.
  double standard_error() const;
  /// Targets so far.
  double count() const { return n_; }

 private:
  double samples_ = 0, x_ = 0, n_ = 0, xx_ = 0, xn_ = 0, nn_ = 0;
};

/// R^2 = 1 - sum (y - x)^2 / sum_k sum (y_k - mean of y_k)^2 of predictions x for targets y with K
/// components, which so weigh by their variance; 0 where the targets do not vary.
///
/// The standard error is that of the ratio, by the delta method: to first order the sum in the
/// denominator does not depend on the means, which minimise it.
class RSquared {
 public:
  /// The next sample's targets follow, of K components each time.
  void begin_sample(std::size_t components);
  /// The next target of the sample and its prediction.
  void add(std::size_t component, double prediction, double target);

  /// R^2 of all targets so far.
  double value() const;
  /// Of R^2.
  double standard_error() const { return ratio().standard_error(); }

 private:
  struct Sums {
    double n = 0, y = 0, yy = 0;  // of the targets less `shift_`
  };
  RatioMean ratio() const;

  std::vector<double> shift_;   // each component's first target, so that sums do not cancel
  std::vector<Sums> sums_;      // of each sample, K each
  std::vector<double> errors_;  // sum (y - x)^2 of each sample
};

}  // namespace xgrad

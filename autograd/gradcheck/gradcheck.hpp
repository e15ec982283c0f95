// Checks gradients: backward() in double against numerical derivatives.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/autograd/variable.hpp>

namespace xgrad {

/// The result for one leaf, or for all leaves together. `analytic` and `numeric` are the two
/// derivatives at the place of the worst error. They are derivatives of <u, f>, the inner product
/// of f with a random u, or of f itself if f is a single number.
struct GradientRow {
  std::string name;        ///< the leaf's name; "all" for directions through all leaves together
  std::string place;       ///< "[1, 2]" for an entry, "direction 3" for a random direction
  double analytic = 0;     ///< derivative by backward()
  double numeric = 0;      ///< derivative by differences of the reference
  double error = 0;        ///< |analytic - numeric|
  double relative = 0;     ///< error / scale
  double scale = 0;        ///< the largest |numeric| of the leaf
  std::size_t probed = 0;  ///< number of probes: entries and directions
  std::size_t directions = 0;  ///< number of directions among the probes
  std::size_t failed = 0;      ///< number of probes out of tolerance
  double severity = 0;         ///< error / the error allowed, at the worst place

  /// Whether all probes were within their tolerances.
  bool ok() const { return failed == 0; }
};

/// The outcome of check_gradients().
struct GradientReport {
  std::vector<GradientRow> rows;  ///< one per probed leaf, then one for all leaves together
  /// Other failures, in words: no gradient arrives at a leaf, two calls differ, gradients do not
  /// accumulate, backward is not linear, or every gradient is zero, which makes the check vacuous.
  std::vector<std::string> failures;

  /// Whether all rows are within their tolerances and there are no failures.
  bool ok() const;
  /// The row with the largest severity. Requires: there is a row.
  const GradientRow& worst() const;
  /// An aligned table with a line per row, '!' before rows that failed, and the failures below.
  std::string table() const;
};

/// A function f and its leaves. Each call of `f` reads the leaves and depends on nothing else;
/// dropout, if any, uses a fixed Rng.
template <class T>
struct GradientProblem {
  std::vector<Parameter<T>> leaves;  ///< leaves to differentiate with respect to
  std::function<Variable<T>()> f;    ///< computes the result from the leaves' present values
};

/// Options of check_gradients(): tolerances, steps and numbers of probes.
struct GradcheckOptions {
  /// Allowed |analytic - numeric|: for an entry, relative to the largest |numeric| of the leaf; for
  /// a direction, to the larger of |numeric| and the gradient's norm. 1e-11 suits a whole model.
  double tolerance = 1e-12;
  /// Allowed |analytic - numeric| of an entry, relative to the |numeric| of this entry. Applies to
  /// entries with a |numeric| above 1e-3 of the largest |numeric| of the leaf.
  double entry_tolerance = 1e-10;
  /// An error that is always allowed, relative to the largest |numeric| of all leaves. This option
  /// matters for leaves with a true gradient of zero.
  double floor = 1e-14;
  /// First step of the differences, relative to max(1, |x|).
  double step = 1e-2;
  /// Levels of Richardson extrapolation, at least 1; each level costs two calls of f. Two levels
  /// are enough for a whole model with a step of 1e-3.
  std::size_t levels = 4;
  /// Maximum number of entries to probe in a leaf. If a leaf has more, the probed ones are random.
  std::size_t entries = 64;
  /// Number of directions in each leaf of more than `entries` elements, and in all leaves together.
  std::size_t directions = 4;
  bool small_directions = false;  ///< probes random directions in smaller leaves, too
  std::uint64_t seed = 0;         ///< seed of the random entries and directions
  /// If given, probes only these places. Maps the name of each leaf to GradientRow::place of an
  /// earlier report.
  std::map<std::string, std::string> places = {};
};

/// Compares two derivatives of <u, f> with respect to every leaf, for a random u. The first is
/// computed by backward() in double. The second is numerical: the Richardson extrapolation of
/// central differences of `reference`. `reference` is the same function as `problem`, in long
/// double or double. In double, `reference` may be `problem` itself. The rounding error of the
/// numerical derivative is about 1e-15 times the sum of |u f| with four levels in long double, and
/// about 1e-12 times this sum with two levels in double and a step of 1e-3. If the extrapolation
/// neither agrees with backward() nor has converged, for example near a kink, the step shrinks. A
/// short step makes the rounding error larger. If the rounding error exceeds the allowed error, the
/// allowed error grows to the rounding error, but at most tenfold.
///
/// Also checks properties of backward(): a second call gives the same bits, gradients accumulate,
/// backward of 0 is exactly 0, backward is linear, and not all gradients are zero. Restores the
/// leaves' values and clears their gradients. Throws ShapeError when the leaves of `problem` and
/// `reference` differ in number, name, shape or value.
template <class T>
GradientReport check_gradients(const GradientProblem<double>& problem,
                               const GradientProblem<T>& reference,
                               const GradcheckOptions& options = {});

namespace detail {

template <class T, class F>
GradientProblem<T> gradient_problem(const F& f, const std::vector<Tensor<double>>& inputs) {
  GradientProblem<T> problem;
  std::vector<Variable<T>> x;
  for (const Tensor<double>& input : inputs) {
    x.emplace_back(cast<T>(input), true);
    problem.leaves.push_back({"input " + std::to_string(problem.leaves.size()), x.back()});
  }
  problem.f = [f, x = std::move(x)] { return f(x); };
  return problem;
}

}  // namespace detail

/// Checks the gradients of a function of tensors that accepts any scalar type:
///
///     check_gradients([](const auto& x) { return add(x[0], x[1]); }, {a, b});
///
/// where x is a std::vector<Variable<S>>, with S = double in one call and S = long double in
/// another.
template <class F>
GradientReport check_gradients(const F& f, const std::vector<Tensor<double>>& inputs,
                               const GradcheckOptions& options = {}) {
  return check_gradients(detail::gradient_problem<double>(f, inputs),
                         detail::gradient_problem<long double>(f, inputs), options);
}

}  // namespace xgrad

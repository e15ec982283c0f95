#include <xgrad/autograd/gradcheck.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

using Real = long double;

// A random number with |v| in [0.5, 1.5): no entry is forgotten because it happens to be near zero.
double draw(const Rng& rng, std::size_t i) {
  const double v = rng.uniform(i);
  return v < 0.5 ? -0.5 - 2 * v : 2 * v - 0.5;
}

Tensor<double> draw(const Rng& rng, const Shape& shape) {
  Tensor<double> result = empty<double>(shape);
  for (std::size_t i = 0; i < result.size(); ++i) result.data()[i] = draw(rng, i);
  return result;
}

Real largest(const Tensor<double>& x) {
  Real result = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    result = std::max(result, std::fabs(Real(x.data()[i])));
  return result;
}

Real norm(const Tensor<double>& x) {
  Real sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += Real(x.data()[i]) * x.data()[i];
  return std::sqrt(sum);
}

std::string place_of(std::size_t entry, const Shape& shape) {
  std::string text;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    text = std::to_string(entry % shape[axis]) + (text.empty() ? "" : ", ") + text;
    entry /= shape[axis];
  }
  return "[" + text + "]";
}

// Differences of <u, f> along straight lines through the leaves of the reference.
class Differences {
 public:
  // One entry of a leaf and how fast it moves.
  struct Move {
    Real* value;
    Real origin;
    Real speed;
  };
  struct Estimate {
    Real value;
    Real error;
  };

  Differences(const GradientProblem<Real>& problem, const Tensor<double>& u)
      : problem_(problem), u_(cast<Real>(u)) {}

  // The derivative along `moves`, with shorter steps until the extrapolation's own error is below
  // `goal`.
  Estimate derivative(const std::vector<Move>& moves, Real step, Real goal) {
    Estimate best = richardson(moves, step);
    for (int attempt = 0; attempt < 4 && !(best.error <= goal); ++attempt) {
      step /= 8;
      const Estimate next = richardson(moves, step);
      if (!(best.error <= next.error)) best = next;
    }
    return best;
  }

 private:
  // Central differences at step, step/2, step/4, step/8 have errors in even powers of the step;
  // three eliminations leave its eighth power.
  Estimate richardson(const std::vector<Move>& moves, Real step) {
    std::array<Real, 4> row;
    for (std::size_t level = 0; level < row.size(); ++level) {
      row[level] = central(moves, std::ldexp(step, -int(level)));
    }
    Real error = 0;
    for (std::size_t k = 1; k < row.size(); ++k) {
      const Real factor = std::ldexp(Real(1), 2 * int(k));
      const Real before = row.back();
      for (std::size_t level = row.size(); level-- > k;) {
        row[level] = (factor * row[level] - row[level - 1]) / (factor - 1);
      }
      error = std::fabs(row.back() - before);
    }
    return {row.back(), error};
  }

  // The outputs are subtracted one by one, so that those that do not move add no rounding.
  Real central(const std::vector<Move>& moves, Real step) {
    const Tensor<Real> above = at(moves, step);
    const Tensor<Real> below = at(moves, -step);
    Real sum = 0;
    for (std::size_t i = 0; i < u_.size(); ++i) {
      sum += u_.data()[i] * (above.data()[i] - below.data()[i]);
    }
    return sum / (2 * step);
  }

  Tensor<Real> at(const std::vector<Move>& moves, Real step) {
    struct Restore {
      const std::vector<Move>& moves;
      ~Restore() {
        for (const Move& move : moves) *move.value = move.origin;
      }
    } restore{moves};
    for (const Move& move : moves) *move.value = move.origin + step * move.speed;
    const NoGrad no_grad;
    Tensor<Real> y = problem_.f().value();
    check_shape(y.shape() == u_.shape(), "check_gradients: f returns shape ", y.shape(), ", then ",
                u_.shape());
    return y;
  }

  const GradientProblem<Real>& problem_;
  Tensor<Real> u_;
};

// One comparison, before it is judged.
struct Probe {
  std::size_t leaf;
  std::string place;
  Real analytic;
  Real numeric;
  Real direction_scale;  // 0 for an entry; for a direction, the size of the gradient that it
                         // contracts
};

class Check {
 public:
  Check(const GradientProblem<double>& problem, const GradientProblem<Real>& reference,
        const GradcheckOptions& options)
      : problem_(problem), reference_(reference), options_(options), rng_(options.seed) {
    check_shape(problem.leaves.size() == reference.leaves.size(),
                "check_gradients: ", problem.leaves.size(), " leaves, and ",
                reference.leaves.size(), " in the reference");
    for (std::size_t i = 0; i < problem.leaves.size(); ++i) {
      const Parameter<double>& leaf = problem.leaves[i];
      const Parameter<Real>& twin = reference.leaves[i];
      check_shape(leaf.name == twin.name && leaf.variable.shape() == twin.variable.shape(),
                  "check_gradients: leaf '", leaf.name, "' ", leaf.variable.shape(),
                  ", in the reference '", twin.name, "' ", twin.variable.shape());
      const Tensor<double>& value = leaf.variable.value();
      check_shape(
          std::equal(value.data(), value.data() + value.size(), twin.variable.value().data()),
          "check_gradients: leaf '", leaf.name, "' has other values in the reference");
    }
  }

  GradientReport run() {
    const Variable<double> y = problem_.f();
    const Tensor<double> u = draw(rng_ / "cotangent", y.shape());
    gradients_ = backward(y, u);
    for (const Tensor<double>& g : gradients_) overall_ = std::max(overall_, largest(g));
    check_laws(y, u);
    for (const auto& leaf : problem_.leaves) leaf.variable.zero_grad();

    Differences differences(reference_, u);
    for (std::size_t leaf = 0; leaf < problem_.leaves.size(); ++leaf) probe(differences, leaf);
    probe_all(differences);
    judge();
    return std::move(report_);
  }

 private:
  // The gradients of the leaves, zero where none arrived.
  std::vector<Tensor<double>> backward(const Variable<double>& y, const Tensor<double>& u) {
    for (const auto& leaf : problem_.leaves) leaf.variable.zero_grad();
    y.backward(u, true);
    return gradients();
  }

  std::vector<Tensor<double>> gradients() const {
    std::vector<Tensor<double>> result;
    for (const auto& leaf : problem_.leaves) {
      const Variable<double>& x = leaf.variable;
      result.push_back(x.has_grad() ? x.grad() : zeros<double>(x.shape()));
    }
    return result;
  }

  void check_laws(const Variable<double>& y, const Tensor<double>& u) {
    expect_close(backward(y, u), gradients_, 0,
                 "a second backward through the graph gives other bits");
    expect_close(backward(problem_.f(), u), gradients_, 0, "a second call gives other bits");

    std::vector<Tensor<double>> twice = gradients_;
    for (auto& g : twice)
      std::transform(g.data(), g.data() + g.size(), g.data(), [](double v) { return 2 * v; });
    y.backward(u, true);  // onto the gradients of the call above
    expect_close(gradients(), twice, options_.tolerance, "gradients do not accumulate");

    expect_close(backward(y, zeros<double>(y.shape())), std::vector<Tensor<double>>(), 0,
                 "backward of 0 is not exactly 0");

    const Tensor<double> v = draw(rng_ / "second cotangent", y.shape());
    Tensor<double> sum = u;
    for (std::size_t i = 0; i < sum.size(); ++i) sum.data()[i] = 2 * u.data()[i] + v.data()[i];
    std::vector<Tensor<double>> expected = backward(y, v);
    for (std::size_t leaf = 0; leaf < expected.size(); ++leaf) {
      const double* g = gradients_[leaf].data();
      for (std::size_t i = 0; i < expected[leaf].size(); ++i) expected[leaf].data()[i] += 2 * g[i];
    }
    expect_close(backward(y, sum), expected, options_.tolerance, "backward is not linear");
  }

  // `expected` empty stands for zeros.
  void expect_close(const std::vector<Tensor<double>>& actual,
                    const std::vector<Tensor<double>>& expected, double tolerance,
                    const char* law) {
    for (std::size_t leaf = 0; leaf < actual.size(); ++leaf) {
      const std::size_t n = actual[leaf].size();
      const Real scale = std::max(largest(gradients_[leaf]), 1e-3L * overall_);
      for (std::size_t i = 0; i < n; ++i) {
        const double a = actual[leaf].data()[i];
        const double b = expected.empty() ? 0 : expected[leaf].data()[i];
        if (std::fabs(Real(a) - b) <= tolerance * scale) continue;
        report_.failures.push_back(problem_.leaves[leaf].name + ": " + law + ", at " +
                                   place_of(i, actual[leaf].shape()));
        break;
      }
    }
  }

  // The largest error that passes, where the leaf's gradient is of size `scale`.
  Real allowed(Real scale, Real overall) const {
    return std::max(options_.tolerance * scale, options_.floor * overall);
  }

  Real first_step(Real x) const {
    // A power of two: added to a double, it is exact in long double.
    return std::exp2(std::floor(std::log2(options_.step * std::max(Real(1), std::fabs(x)))));
  }

  void probe(Differences& differences, std::size_t leaf) {
    const std::string& name = problem_.leaves[leaf].name;
    const Tensor<double>& g = gradients_[leaf];
    Tensor<Real>& x = reference_.leaves[leaf].variable.mutable_value();
    const std::size_t n = g.size();
    const Real goal = 10 * allowed(largest(g), overall_);
    const auto probe_entry = [&](std::size_t i) {
      const Real origin = x.data()[i];
      const auto numeric =
          differences.derivative({{x.data() + i, origin, 1}}, first_step(origin), goal);
      probes_.push_back({leaf, place_of(i, g.shape()), g.data()[i], numeric.value, 0});
    };
    if (n <= options_.entries) {
      for (std::size_t i = 0; i < n; ++i) probe_entry(i);
      return;
    }
    const Rng rng = rng_ / "entries" / name;
    for (std::size_t k = 0; k < options_.entries; ++k) probe_entry(rng.below(n, k));
    for (std::size_t k = 0; k < options_.directions; ++k) {
      probe_direction(differences, leaf, leaf + 1, k, rng_ / "direction" / name / k);
    }
  }

  void probe_all(Differences& differences) {
    for (std::size_t k = 0; k < options_.directions; ++k) {
      probe_direction(differences, 0, problem_.leaves.size(), k, rng_ / "directions" / k);
    }
  }

  // Along a random direction through the leaves begin ... end-1, <J v, u> = <v, J' u>.
  void probe_direction(Differences& differences, std::size_t begin, std::size_t end, std::size_t k,
                       const Rng& rng) {
    std::vector<Differences::Move> moves;
    Real analytic = 0;
    Real scale = 0;
    for (std::size_t leaf = begin; leaf < end; ++leaf) {
      Tensor<Real>& x = reference_.leaves[leaf].variable.mutable_value();
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double speed = draw(rng / leaf, i);
        moves.push_back({x.data() + i, x.data()[i], speed});
        analytic += Real(speed) * gradients_[leaf].data()[i];
      }
      scale = std::hypot(scale, norm(gradients_[leaf]));
    }
    if (moves.empty()) return;
    const auto numeric =
        differences.derivative(moves, first_step(0), 10 * allowed(scale, overall_));
    const std::size_t owner =
        end - begin == problem_.leaves.size() ? problem_.leaves.size() : begin;
    probes_.push_back({owner, "direction " + std::to_string(k), analytic, numeric.value, scale});
  }

  void judge() {
    const std::size_t all = problem_.leaves.size();
    std::vector<Real> sizes(all + 1, 0);
    Real overall = 0;
    for (const Probe& p : probes_) {
      sizes[p.leaf] = std::max(sizes[p.leaf], std::fabs(p.numeric));
      overall = std::max(overall, std::fabs(p.numeric));
    }
    for (std::size_t leaf = 0; leaf <= all; ++leaf) {
      GradientRow row;
      row.name = leaf == all ? "all" : problem_.leaves[leaf].name;
      row.severity = -1;
      for (const Probe& p : probes_) {
        if (p.leaf == leaf) judge(p, sizes[leaf], overall, row);
      }
      if (row.probed > 0) report_.rows.push_back(row);
      if (leaf < all) expect_arrival(leaf, row, sizes[leaf], overall);
    }
    if (!(overall > 0)) report_.failures.push_back("every gradient is zero: this checks nothing");
  }

  void judge(const Probe& p, Real size, Real overall, GradientRow& row) const {
    const bool entry = p.direction_scale == 0;
    const Real error = std::fabs(p.analytic - p.numeric);
    Real limit = allowed(std::max(entry ? size : p.direction_scale, std::fabs(p.numeric)), overall);
    if (entry && std::fabs(p.numeric) > 1e-3L * size) {
      limit = std::min(limit, std::max(options_.entry_tolerance * std::fabs(p.numeric),
                                       Real(options_.floor) * overall));
    }
    const bool ok = error <= limit;  // false for NaN
    ++row.probed;
    row.failed += !ok;
    Real severity = ok && limit == 0 ? 0 : error / limit;
    if (!(severity < std::numeric_limits<double>::max()))
      severity = std::numeric_limits<double>::max();
    if (double(severity) <= row.severity) return;
    row.place = p.place;
    row.analytic = double(p.analytic);
    row.numeric = double(p.numeric);
    row.error = double(error);
    row.relative = double(size > 0 ? error / size : error);
    row.severity = double(severity);
  }

  void expect_arrival(std::size_t leaf, const GradientRow& row, Real size, Real overall) {
    if (row.ok() || !(size > options_.floor * overall) || largest(gradients_[leaf]) != 0) return;
    report_.failures.push_back(row.name + ": no gradient arrives, but the output depends on it");
  }

  const GradientProblem<double>& problem_;
  const GradientProblem<Real>& reference_;
  const GradcheckOptions& options_;
  Rng rng_;
  std::vector<Tensor<double>> gradients_;
  Real overall_ = 0;  // the largest |entry| of all gradients
  std::vector<Probe> probes_;
  GradientReport report_;
};

}  // namespace

GradientReport check_gradients(const GradientProblem<double>& problem,
                               const GradientProblem<long double>& reference,
                               const GradcheckOptions& options) {
  return Check(problem, reference, options).run();
}

}  // namespace xgrad

#include <xgrad/autograd/gradcheck/gradcheck.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/detail/differences.hpp>

namespace xgrad {

namespace {

using Real = long double;
using detail::Differences;
using detail::Move;

// A random number with 0.5 <= |v| < 1.5; a weight near zero would hide errors.
double draw(const Rng& rng, std::size_t i) {
  const double v = rng.uniform(i);
  return v < 0.5 ? -0.5 - 2 * v : 2 * v - 0.5;
}

Tensor<double> draw(const Rng& rng, const Shape& shape) {
  Tensor<double> result = empty<double>(shape);
  for (std::size_t i = 0; i < result.size(); ++i) result.data()[i] = draw(rng, i);
  return result;
}

// `count` different numbers below `size`, in random order. If size <= count: all numbers below
// `size`, in ascending order.
std::vector<std::size_t> choose(std::size_t size, std::size_t count, const Rng& rng) {
  std::vector<std::size_t> chosen;
  std::set<std::size_t> seen;
  for (std::size_t k = 0; chosen.size() < std::min(size, count); ++k) {
    const std::size_t i = size <= count ? k : rng.below(size, k);
    if (seen.insert(i).second) chosen.push_back(i);
  }
  return chosen;
}

// The largest |x|; NaN if an element is NaN.
Real largest(const Tensor<double>& x) {
  Real result = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Real magnitude = std::fabs(Real(x.data()[i]));
    if (std::isnan(magnitude)) return magnitude;
    result = std::max(result, magnitude);
  }
  return result;
}

Real norm(const Tensor<double>& x) {
  Real sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += Real(x.data()[i]) * x.data()[i];
  return std::sqrt(sum);
}

template <class T>
void check_twins(const GradientProblem<double>& problem, const GradientProblem<T>& reference) {
  check_shape(problem.leaves.size() == reference.leaves.size(), "check_gradients: the problem has ",
              problem.leaves.size(), " leaves, the reference ", reference.leaves.size());
  for (std::size_t i = 0; i < problem.leaves.size(); ++i) {
    const std::string &name = problem.leaves[i].name, &other = reference.leaves[i].name;
    const Variable<double>& leaf = problem.leaves[i].variable;
    const Variable<T>& twin = reference.leaves[i].variable;
    check_shape(name == other && leaf.shape() == twin.shape(), "check_gradients: leaf '", name,
                "' has shape ", leaf.shape(), ", the reference has '", other, "' of shape ",
                twin.shape());
    const double* values = leaf.value().data();
    check_shape(std::equal(values, values + leaf.value().size(), twin.value().data()),
                "check_gradients: leaf '", name,
                "' and its copy in the reference have different values");
  }
}

// One comparison of a derivative, along an entry of a leaf or along a random direction.
struct Probe {
  std::size_t leaf;  // index of the leaf; for a direction through all leaves, their number
  std::string place;
  Real analytic;
  Real numeric;
  Real rounding;       // error of `numeric` by rounding
  Real gradient_norm;  // norm of the gradient along a direction; 0 for an entry
};

// T is the scalar of the differences.
template <class T>
class Check {
 public:
  Check(const GradientProblem<double>& problem, const GradientProblem<T>& reference,
        const GradcheckOptions& options)
      : problem_(problem), reference_(reference), options_(options), rng_(options.seed) {}

  GradientReport run() {
    const Variable<double> y = problem_.f();
    const Tensor<double> u = draw(rng_ / "cotangent", y.shape());
    if (u.size() == 1) unit_ = u.data()[0];
    gradients_ = backward(y, u);
    for (const Tensor<double>& g : gradients_) overall_ = std::max(overall_, largest(g));
    if (y.requires_grad()) check_laws(y, u);
    zero_grad();

    const Differences<T> differences(reference_.f, u, options_.levels);
    for (std::size_t leaf = 0; leaf < problem_.leaves.size(); ++leaf) probe(differences, leaf);
    const Rng rng = rng_ / "directions";
    for (std::size_t k = 0; k < options_.directions; ++k) {
      probe_direction(differences, problem_.leaves.size(), 0, problem_.leaves.size(), k, rng / k);
    }
    judge(largest(y.value()));
    return std::move(report_);
  }

 private:
  void zero_grad() const {
    for (const auto& leaf : problem_.leaves) leaf.variable.zero_grad();
  }

  std::vector<Tensor<double>> backward(const Variable<double>& y, const Tensor<double>& u) const {
    zero_grad();
    if (y.requires_grad()) y.backward(u, true);
    return gradients();
  }

  // The gradients of all leaves; zeros where none has arrived.
  std::vector<Tensor<double>> gradients() const {
    std::vector<Tensor<double>> result;
    for (const Parameter<double>& leaf : problem_.leaves) {
      const Variable<double>& x = leaf.variable;
      result.push_back(x.has_grad() ? x.grad() : zeros<double>(x.shape()));
    }
    return result;
  }

  void check_laws(const Variable<double>& y, const Tensor<double>& u) {
    const auto zero = [](std::size_t, std::size_t) { return 0.0; };
    const auto same = [&](std::size_t leaf, std::size_t i) { return gradients_[leaf].data()[i]; };
    const auto twice = [&](std::size_t leaf, std::size_t i) { return 2 * same(leaf, i); };
    expect(backward(y, u), same, 0, "a second backward through the graph gives other bits");
    expect(backward(problem_.f(), u), same, 0, "a second call gives other bits");
    y.backward(u, true);  // adds to the gradients of the call above
    expect(gradients(), twice, 3, "gradients do not accumulate");
    expect(backward(y, zeros<double>(y.shape())), zero, 0, "backward of 0 is not exactly 0");

    const Tensor<double> v = draw(rng_ / "second cotangent", y.shape());
    Tensor<double> sum = u;
    for (std::size_t i = 0; i < sum.size(); ++i) sum.data()[i] = 2 * u.data()[i] + v.data()[i];
    const std::vector<Tensor<double>> of_v = backward(y, v);
    const auto linear = [&](std::size_t leaf, std::size_t i) {
      return twice(leaf, i) + of_v[leaf].data()[i];
    };
    expect(backward(y, sum), linear, 3, "backward is not linear");
  }

  // Notes a failure of the property `law` unless actual and expected agree: to the bit if
  // `rounding` is 0, else within `rounding` times the gradient's tolerance.
  template <class Expected>
  void expect(const std::vector<Tensor<double>>& actual, const Expected& expected, Real rounding,
              const char* law) {
    for (std::size_t leaf = 0; leaf < actual.size(); ++leaf) {
      const Real limit = rounding * allowed(largest(gradients_[leaf]), overall_);
      for (std::size_t i = 0; i < actual[leaf].size(); ++i) {
        if (std::fabs(Real(actual[leaf].data()[i]) - expected(leaf, i)) <= limit) continue;
        report_.failures.push_back(problem_.leaves[leaf].name + ": " + law + ", at " +
                                   index_text(actual[leaf].shape(), i));
        break;
      }
    }
  }

  // The error allowed for a gradient of size `scale`.
  Real allowed(Real scale, Real overall) const {
    return std::max(options_.tolerance * scale, options_.floor * overall);
  }

  // A power of two, so that adding it to a double is exact in long double.
  Real first_step(Real x) const {
    return std::exp2(std::floor(std::log2(options_.step * std::max(Real(1), std::fabs(x)))));
  }

  // Whether a place of a leaf is to be probed.
  bool wants(std::size_t leaf, const std::string& place) const {
    if (options_.places.empty()) return true;
    const auto wanted = options_.places.find(name_of(leaf));
    return wanted != options_.places.end() && wanted->second == place;
  }

  std::string name_of(std::size_t leaf) const {
    return leaf == problem_.leaves.size() ? "all" : problem_.leaves[leaf].name;
  }

  void probe(const Differences<T>& differences, std::size_t leaf) {
    const std::string& name = problem_.leaves[leaf].name;
    const Tensor<double>& g = gradients_[leaf];
    T* x = reference_.leaves[leaf].variable.mutable_value().data();
    const Real goal = 0.1L * allowed(largest(g), overall_);
    for (const std::size_t i : choose(g.size(), options_.entries, rng_ / "entries" / name)) {
      const std::string place = index_text(g.shape(), i);
      if (!wants(leaf, place)) continue;
      const Real analytic = g.data()[i];
      const auto [numeric, rounding] =
          differences.derivative({{x + i, x[i], 1}}, first_step(x[i]), analytic, goal);
      probes_.push_back({leaf, place, analytic, numeric, rounding, 0});
    }
    if (g.size() <= options_.entries && !options_.small_directions) return;
    const Rng rng = rng_ / "direction" / name;
    for (std::size_t k = 0; k < options_.directions; ++k) {
      probe_direction(differences, leaf, leaf, leaf + 1, k, rng / k);
    }
  }

  // Checks <J v, u> = <v, J' u> along a random direction v through leaves begin ... end-1.
  void probe_direction(const Differences<T>& differences, std::size_t owner, std::size_t begin,
                       std::size_t end, std::size_t k, const Rng& rng) {
    const std::string place = "direction " + std::to_string(k);
    if (!wants(owner, place)) return;
    std::vector<Move<T>> moves;
    Real analytic = 0;
    Real scale = 0;
    for (std::size_t leaf = begin; leaf < end; ++leaf) {
      Tensor<T>& x = reference_.leaves[leaf].variable.mutable_value();
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double speed = draw(rng / leaf, i);
        moves.push_back({x.data() + i, x.data()[i], T(speed)});
        analytic += Real(speed) * gradients_[leaf].data()[i];
      }
      scale = std::hypot(scale, norm(gradients_[leaf]));
    }
    const Real goal = 0.1L * allowed(scale, overall_);
    const auto [numeric, rounding] = differences.derivative(moves, first_step(0), analytic, goal);
    probes_.push_back({owner, place, analytic, numeric, rounding, scale});
  }

  void judge(Real largest_output) {
    const std::size_t all = problem_.leaves.size();
    std::vector<Real> sizes(all + 1, 0);
    for (const Probe& p : probes_) {
      sizes[p.leaf] = std::max(sizes[p.leaf], std::fabs(p.numeric));
    }
    const Real overall = *std::max_element(sizes.begin(), sizes.end());
    for (std::size_t leaf = 0; leaf <= all; ++leaf) {
      GradientRow row;
      row.name = name_of(leaf);
      row.severity = -1;
      row.scale = double(sizes[leaf] / std::fabs(unit_));
      for (const Probe& p : probes_) {
        if (p.leaf == leaf) judge(p, sizes[leaf], overall, row);
      }
      if (row.probed > 0) report_.rows.push_back(row);
      if (leaf < all && !row.ok() && largest(gradients_[leaf]) == 0) {
        report_.failures.push_back(row.name +
                                   ": no gradient arrives, but the output depends on it");
      }
    }
    if (overall <= 1e-13L * largest_output) {
      report_.failures.push_back("every gradient is zero: this checks nothing");
    }
  }

  void judge(const Probe& p, Real size, Real overall, GradientRow& row) const {
    const bool entry = p.gradient_norm == 0;
    const Real error = std::fabs(p.analytic - p.numeric);
    Real limit = allowed(entry ? size : std::max(p.gradient_norm, std::fabs(p.numeric)), overall);
    if (entry && std::fabs(p.numeric) > 1e-3L * size) {
      limit = std::min(limit, std::max(options_.entry_tolerance * std::fabs(p.numeric),
                                       options_.floor * overall));
    }
    limit = std::max(limit, std::min(p.rounding, 10 * limit));
    const bool ok = error <= limit;  // false for NaN
    ++row.probed;
    row.directions += !entry;
    row.failed += !ok;
    double severity = double(error / limit);
    if (ok && limit == 0) severity = 0;
    if (!std::isfinite(severity)) severity = std::numeric_limits<double>::max();
    if (severity <= row.severity) return;
    row.place = p.place;
    row.analytic = double(p.analytic / unit_);
    row.numeric = double(p.numeric / unit_);
    row.error = double(error / std::fabs(unit_));
    row.relative = double(size > 0 ? error / size : error);
    row.severity = severity;
  }

  const GradientProblem<double>& problem_;
  const GradientProblem<T>& reference_;
  const GradcheckOptions& options_;
  Rng rng_;
  std::vector<Tensor<double>> gradients_;
  Real overall_ = 0;  // the largest |entry| of all gradients
  Real unit_ = 1;     // u if f has a single output: divides out u, so that rows give df/d(leaf)
  std::vector<Probe> probes_;
  GradientReport report_;
};

}  // namespace

bool GradientReport::ok() const {
  return failures.empty() &&
         std::all_of(rows.begin(), rows.end(), [](const GradientRow& row) { return row.ok(); });
}

const GradientRow& GradientReport::worst() const {
  return *std::max_element(
      rows.begin(), rows.end(),
      [](const GradientRow& a, const GradientRow& b) { return a.severity < b.severity; });
}

std::string GradientReport::table() const {
  using Line = std::array<std::string, 8>;
  const auto number = [](const char* pattern, double value) {
    char text[40];
    std::snprintf(text, sizeof text, pattern, value);
    return std::string(text);
  };
  std::vector<Line> lines{
      {" ", "leaf", "worst at", "analytic", "numeric", "error", "of max", "passed"}};
  for (const GradientRow& row : rows) {
    lines.push_back({row.ok() ? " " : "!", row.name, row.place, number("%.15e", row.analytic),
                     number("%.15e", row.numeric), number("%.1e", row.error),
                     number("%.1e", row.relative),
                     std::to_string(row.probed - row.failed) + "/" + std::to_string(row.probed)});
  }
  std::array<std::size_t, 8> widths{};
  for (const Line& cells : lines) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
  }
  std::string text;
  for (const Line& cells : lines) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - cells[i].size(), ' ');
      const bool is_text = i < 3;  // text is left-aligned, numbers are right-aligned
      text += is_text ? cells[i] + padding : padding + cells[i];
      text += i + 1 < cells.size() ? "  " : "\n";
    }
  }
  for (const std::string& failure : failures) text += "! " + failure + "\n";
  return text;
}

template <class T>
GradientReport check_gradients(const GradientProblem<double>& problem,
                               const GradientProblem<T>& reference,
                               const GradcheckOptions& options) {
  check_twins(problem, reference);
  return Check<T>(problem, reference, options).run();
}

using Problem = GradientProblem<double>;
template GradientReport check_gradients(const Problem&, const Problem&, const GradcheckOptions&);
template GradientReport check_gradients(const Problem&, const GradientProblem<long double>&,
                                        const GradcheckOptions&);

}  // namespace xgrad

#include <xgrad/train/inspect/principal_components.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

using Vector = std::vector<double>;

constexpr int kMostIterations = 20000;
constexpr double kConverged = 1e-13;  // distance between two iterates of length 1

double dot(const double* a, const double* b, std::size_t n) {
  return std::inner_product(a, a + n, b, 0.0);
}

// Makes v of length 1 and orthogonal to the unit vectors in `others`; returns its length before.
double normalize(Vector& v, const std::vector<Vector>& others) {
  for (const Vector& other : others) {
    const double along = dot(v.data(), other.data(), v.size());
    for (std::size_t i = 0; i < v.size(); ++i) v[i] -= along * other[i];
  }
  const double length = std::sqrt(dot(v.data(), v.data(), v.size()));
  for (double& e : v) e = length > 0 ? e / length : 0;
  return length;
}

// X^T X v
Vector scattered(const Tensor<double>& x, const Vector& v) {
  Vector result(v.size(), 0.0);
  for (std::size_t row = 0; row < x.shape()[0]; ++row) {
    const double* at = x.data() + row * v.size();
    const double along = dot(at, v.data(), v.size());
    for (std::size_t i = 0; i < v.size(); ++i) result[i] += along * at[i];
  }
  return result;
}

// The eigenvector of X^T X with the largest eigenvalue among those orthogonal to `others`; 0 if
// that eigenvalue is 0.
Vector direction(const Tensor<double>& x, const std::vector<Vector>& others) {
  const std::size_t width = x.shape()[1];
  Vector v(width);
  for (std::size_t i = 0; i < width; ++i) v[i] = std::cos(double(i * i + others.size()));
  normalize(v, others);
  for (int step = 0; step < kMostIterations; ++step) {
    Vector next = scattered(x, v);
    if (normalize(next, others) < 1e-300) return Vector(width, 0.0);
    double moved = 0;
    for (std::size_t i = 0; i < width; ++i) moved += (next[i] - v[i]) * (next[i] - v[i]);
    v = std::move(next);
    if (moved < kConverged * kConverged) break;
  }
  const auto larger = [](double a, double b) { return std::abs(a) < std::abs(b); };
  const bool flip = *std::max_element(v.begin(), v.end(), larger) < 0;
  for (double& e : v) e = flip ? -e : e;
  return v;
}

}  // namespace

Projection principal_components(const Tensor<double>& x) {
  check_shape(x.dimension() == 2 && x.shape()[0] >= 1 && x.shape()[1] >= 2,
              "principal_components: expected points (V, D) with D of at least 2, got ",
              to_string(x.shape()));
  const std::size_t count = x.shape()[0], width = x.shape()[1];
  const Tensor<double> centred = x - xt::mean(x, {0});
  const double variance = dot(centred.data(), centred.data(), centred.size());
  Projection result{zeros<double>({count, 2}), {0, 0}};
  std::vector<Vector> directions;
  for (std::size_t c = 0; c < 2; ++c) {
    const Vector v = direction(centred, directions);
    double along = 0;
    for (std::size_t row = 0; row < count; ++row) {
      const double place = dot(centred.data() + row * width, v.data(), width);
      result.points(row, c) = place;
      along += place * place;
    }
    result.explained[c] = variance > 0 ? along / variance : 0;
    directions.push_back(v);
  }
  return result;
}

}  // namespace xgrad

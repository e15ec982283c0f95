#include <xgrad/optim/clip.hpp>

#include <algorithm>
#include <cmath>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/lanes.hpp>
#include <xgrad/optim/flat_parameters.hpp>

namespace xgrad {

template <class T>
static double sum_of_squares(const T* x, std::size_t n) {
  const auto square = [x](std::size_t i) { return double(x[i]) * double(x[i]); };
  return detail::sum_terms<double, 4 * detail::kLanes<double>>(n, square);
}

template <class T>
std::vector<double> sums_of_squares(const Parameters<T>& parameters, const ModelPart& part) {
  detail::FlatParameters flat;
  std::vector<const T*> grads;
  for (const Parameter<T>& p : parameters) {
    if (!p.variable.has_grad()) continue;
    grads.push_back(p.variable.grad().data());
    flat.append(p.value().size());
  }
  std::vector<double> sums(flat.blocks(part).size(), 0.0);
  flat.parallel_runs(part, [&](std::size_t i, std::size_t first, std::size_t n, std::size_t block) {
    sums[block] += sum_of_squares(grads[i] + first, n);
  });
  return sums;
}

double norm_of(const std::vector<double>& sums) {
  double total = 0;
  for (const double sum : sums) total += sum;
  return std::sqrt(total);
}

template <class T>
void clip_values(const Parameters<T>& parameters, double most, const ModelPart& part) {
  detail::FlatParameters flat;
  std::vector<T*> grads;
  for (const Parameter<T>& p : parameters) {
    if (!p.variable.has_grad()) continue;
    grads.push_back(p.variable.make_grad().data());
    flat.append(p.value().size());
  }
  const T high = T(most), low = -high;
  flat.parallel_runs(part, [&](std::size_t i, std::size_t first, std::size_t n, std::size_t) {
    T* g = grads[i] + first;
    for (std::size_t e = 0; e < n; ++e) g[e] = std::clamp(g[e], low, high);
  });
}

template <class T>
const Parameter<T>* first_not_finite(const Parameters<T>& parameters) {
  for (const Parameter<T>& p : parameters) {
    if (first_not_finite(p.value())) return &p;
  }
  return nullptr;
}

double clip_factor(double norm, double max_norm) {
  check<NumericError>(norm >= 0 && std::isfinite(norm),
                      "clip_factor: norm: expected a finite number of at least 0, got ", norm);
  check<NumericError>(max_norm >= 0, "clip_factor: max_norm: expected at least 0, got ", max_norm);
  return max_norm == 0 ? 1.0 : std::min(1.0, max_norm / (norm + 1e-6));
}

#define XGRAD_INSTANTIATE(T)                                \
  template decltype(sums_of_squares<T>) sums_of_squares<T>; \
  template decltype(clip_values<T>) clip_values<T>;         \
  template const Parameter<T>* first_not_finite(const Parameters<T>&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

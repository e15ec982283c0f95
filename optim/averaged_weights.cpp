#include <xgrad/optim/averaged_weights.hpp>

#include <algorithm>
#include <utility>

#include <xgrad/optim/flat_parameters.hpp>

namespace xgrad {

template <class T>
AveragedWeights<T>::AveragedWeights(const Parameters<T>& parameters, const std::string& kind,
                                    const ModelPart& part)
    : part_(part) {
  detail::FlatParameters flat;
  for (const Parameter<T>& p : parameters) {
    if (!p.variable.requires_grad()) continue;
    const Tensor<T>& value = p.value();
    flat.append(value.size());
    const Range own = flat.run_of(part, flat.count() - 1);
    Tensor<T> mean = empty<T>(own.size() == value.size() ? value.shape() : Shape{own.size()});
    std::copy_n(value.data() + own.begin, own.size(), mean.data());
    parameters_.push_back(p);
    means_.push_back({kind + "." + p.name, std::move(mean), p.variable.shape(), own.begin});
  }
}

template <class T>
void AveragedWeights<T>::update(double share) {
  const T s = T(share);
  detail::FlatParameters flat;
  for (const Parameter<T>& p : parameters_) flat.append(p.value().size());
  flat.parallel_runs(part_, [&](std::size_t i, std::size_t first, std::size_t n, std::size_t) {
    T* mean = means_[i].tensor.data() + (first - means_[i].first);
    const T* x = parameters_[i].variable.value().data() + first;
    if (share == 1) {
      std::copy_n(x, n, mean);
      return;
    }
#pragma omp simd
    for (std::size_t e = 0; e < n; ++e) mean[e] += s * (x[e] - mean[e]);
  });
}

template <class T>
void AveragedWeights<T>::swap() {
  for (std::size_t i = 0; i < means_.size(); ++i) {
    Tensor<T>& mean = means_[i].tensor;
    std::swap_ranges(mean.data(), mean.data() + mean.size(),
                     parameters_[i].variable.mutable_value().data() + means_[i].first);
  }
}

#define XGRAD_INSTANTIATE(T) template class AveragedWeights<T>;
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

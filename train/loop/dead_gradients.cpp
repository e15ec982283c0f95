#include <xgrad/train/loop/dead_gradients.hpp>

#include <algorithm>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

template <class T>
static bool has_gradient(const Variable<T>& x) {
  if (!x.has_grad()) return false;
  const Tensor<T>& gradient = x.grad();
  return std::any_of(gradient.data(), gradient.data() + gradient.size(),
                     [](T element) { return element != T(0); });
}

template <class T>
void DeadGradients<T>::observe() {
  auto alive = alive_.begin();
  for (const Parameter<T>& p : *parameters_) {
    if (!*alive) *alive = has_gradient(p.variable);
    ++alive;
  }
}

template <class T>
void DeadGradients<T>::join(const std::string& alive) {
  for (std::size_t i = 0; i < alive_.size(); ++i) alive_[i] = alive_[i] || alive[i];
}

template <class T>
std::vector<const Parameter<T>*> DeadGradients<T>::take() {
  std::vector<const Parameter<T>*> dead;
  auto alive = alive_.begin();
  for (const Parameter<T>& p : *parameters_) {
    if (!*alive && p.variable.requires_grad()) dead.push_back(&p);
    *alive++ = false;
  }
  return dead;
}

#define XGRAD_INSTANTIATE(T) template class DeadGradients<T>;
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

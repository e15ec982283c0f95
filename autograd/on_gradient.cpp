#include <xgrad/autograd/on_gradient.hpp>

#include <utility>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

template <class T>
static thread_local const std::function<void(const Node<T>&)>* on_gradient = nullptr;

template <class T>
OnGradient<T>::OnGradient(Function function)
    : function_(std::move(function)), scoped_(on_gradient<T>, &function_) {}

template <class T>
const typename OnGradient<T>::Function* OnGradient<T>::current() {
  return on_gradient<T>;
}

#define XGRAD_INSTANTIATE(T) template class OnGradient<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

#include <xgrad/autograd/on_gradient.hpp>

#include <utility>

#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

template <class T>
static const OnGradient<T>*& of_thread() {
  thread_local const OnGradient<T>* current = nullptr;
  return current;
}

template <class T>
OnGradient<T>::OnGradient(Function function) : function_(std::move(function)) {
  of_thread<T>() = this;
}

template <class T>
OnGradient<T>::~OnGradient() {
  of_thread<T>() = nullptr;
}

template <class T>
const OnGradient<T>* OnGradient<T>::current() {
  return of_thread<T>();
}

#define XGRAD_INSTANTIATE(T) template class OnGradient<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

// The values of a thread that hold for a scope: NoGrad, Autocast, OnGradient and ScopedObserver.
#include <xgrad/autograd/scoped.hpp>

#include <utility>

#include <xgrad/autograd/autocast.hpp>
#include <xgrad/autograd/observer.hpp>
#include <xgrad/autograd/op.hpp>

namespace xgrad {

namespace {
thread_local bool recording = true, products_in_bf16 = false;
thread_local OpObserver* observer = nullptr;
template <class T>
thread_local const std::function<void(const Node<T>&)>* on_gradient = nullptr;
}  // namespace

NoGrad::NoGrad() : Scoped(recording, false) {}
bool grad_enabled() {
  return recording;
}

Autocast::Autocast(bool on) : Scoped(products_in_bf16, on) {}
bool autocast_enabled() {
  return products_in_bf16;
}

ScopedObserver::ScopedObserver(OpObserver& given) : Scoped(observer, &given) {}
OpObserver* op_observer() {
  return observer;
}

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

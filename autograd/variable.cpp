// The value and the gradient of a Variable; backward() is in engine.cpp.
#include <xgrad/autograd/variable.hpp>

#include <ostream>

#include <xgrad/autograd/detail/large_blocks.hpp>
#include <xgrad/autograd/op.hpp>

namespace xgrad {

template <class T>
Variable<T>::Variable(Tensor<T> value, bool requires_grad)
    : value_(std::make_shared<Versioned<T>>(std::move(value))) {
  if (requires_grad) node_ = std::make_shared<Node<T>>("leaf", value_->shape());
}

template <class T>
Tensor<T>& Variable<T>::mutable_value() const {
  check<GradientError>(defined(), "mutable_value: this Variable has no value");
  check<GradientError>(!value_->recorded, "mutable_value: this is the result of ",
                       node_ ? node_->name : "a recorded op",
                       ", which backward may need; change a copy");
  if (node_) node_->check_value(*value_);
  ++value_->version;
  value_->packed.reset();
  return *value_;
}

template <class T>
T Variable<T>::item() const {
  check<GradientError>(defined(), "item: this Variable has no value");
  check_shape(value_->size() == 1, "item: expected a single element, got shape ", shape());
  return value_->data()[0];
}

template <class T>
bool Variable<T>::has_grad() const {
  return node_ && node_->has_grad;
}

template <class T>
const Tensor<T>& Variable<T>::grad() const {
  return mutable_grad();
}

template <class T>
Tensor<T>& Variable<T>::mutable_grad() const {
  check<GradientError>(has_grad(), "grad: this Variable of shape ", defined() ? shape() : Shape{},
                       " has no gradient; call backward() on a result that depends on it");
  return node_->arrived();
}

template <class T>
Tensor<T>& Variable<T>::make_grad() const {
  check<GradientError>(node_ && !node_->op, "make_grad: this Variable of shape ",
                       defined() ? shape() : Shape{}, " is not a leaf that requires a gradient");
  node_->check_value(*value_);
  if (!node_->has_grad) node_->grad = zeros<T>(shape());
  node_->has_grad = true;
  return node_->arrived();
}

template <class T>
void Variable<T>::zero_grad() const {
  if (!node_) return;
  node_->has_grad = false;
  // Frees a large gradient, so that the next forward's activations can use its memory. Keeps a
  // small one: allocating it again takes longer than some ops of a small model.
  if (node_->grad.size() * sizeof(T) >= detail::LargeBlocks::kSmallest) {
    detail::free_elements(node_->grad);
  }
}

template <class T>
Variable<T> Variable<T>::detach() const {
  return Variable(value_, nullptr);
}

template <class T>
std::ostream& operator<<(std::ostream& out, const Variable<T>& x) {
  if (!x.defined()) return out << "Variable without a value";
  out << x.value() << "\nVariable of shape " << to_string(x.shape());
  if (x.requires_grad()) out << ", requires_grad (" << x.node()->name << ")";
  return out;
}

#define XGRAD_INSTANTIATE(T)  \
  template class Variable<T>; \
  template std::ostream& operator<<(std::ostream&, const Variable<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

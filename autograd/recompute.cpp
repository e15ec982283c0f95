#include <xgrad/autograd/recompute.hpp>

#include <algorithm>
#include <utility>

#include <xgrad/autograd/captures.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace detail {

template <class T>
static thread_local Captures<T>* newest = nullptr;

template <class T>
Captures<T>::Captures()
    : inside_(std::make_shared<Node<T>>("recompute", Shape{})),
      before_(std::exchange(newest<T>, this)) {
  inside_->lost = "ends there: it is a result of the function of a recompute(), used outside of it";
}

template <class T>
Captures<T>::~Captures() {
  newest<T> = before_;
}

template <class T>
Captures<T>* Captures<T>::current() {
  return newest<T>;
}

template <class T>
void Captures<T>::note(const Variable<T>& x) {
  if (!x.defined() || made(x)) return;
  if (x.requires_grad()) nodes_.push_back(x.node());
  if (!x.shared_value()->recorded) values_.emplace_back(x.shared_value());
}

template <class T>
void Captures<T>::move_to(Node<T>& recompute) {
  std::sort(nodes_.begin(), nodes_.end());
  nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
  recompute.captured = std::move(nodes_);
  recompute.saved = std::move(values_);
}

}  // namespace detail

namespace {

template <class T>
struct Recompute final : Op<T> {
  using Function = std::function<Variable<T>(const Variable<T>&)>;

  Recompute(const Function& f, const Variable<T>& x, Value<T> y)
      : f(f), x(x.shared_value()), y(std::move(y)) {}
  const char* name() const override { return "recompute"; }

  Value<T> forward(const Inputs<T>&) override { return std::move(y); }

  // The graph of f that this makes ends at a leaf with the value of x; what arrives there is dx.
  // It ends at what f captures too: the gradients arrive there, and the walk that called this one
  // hands them on, since the node of this op lists what f captures.
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    check<GradientError>(grad_enabled(), "recompute: backward while a NoGrad lives");
    const Variable<T> leaf(x, std::make_shared<Node<T>>("leaf", x->shape()));
    const Variable<T> again = f(leaf);
    check_defined(name(), "the second result of its function", again);
    if (!again.requires_grad()) return;
    detail::backward_within(again, std::move(dy), dx.node(), leaf.node()->id);
    if (leaf.has_grad()) dx.add(0, std::move(leaf.mutable_grad()));
  }

  Function f;
  Value<T> x, y;
};

}  // namespace

template <class T>
Variable<T> recompute(const std::function<Variable<T>(const Variable<T>&)>& f,
                      const Variable<T>& x) {
  if (!x.requires_grad() || !grad_enabled()) return f(x);
  detail::Captures<T> captures;
  Value<T> value;
  {
    const NoGrad no_grad;
    const Variable<T> result = f(x);
    check_defined("recompute", "the result of its function", result);
    captures.note(result);
    // A value from outside stays its owner's.
    value = captures.made(result) ? result.shared_value()
                                  : std::make_shared<Versioned<T>>(result.value());
  }
  const Variable<T> y = apply<T>(std::make_unique<Recompute<T>>(f, x, std::move(value)), {x});
  captures.move_to(*y.node());
  return y;
}

#define XGRAD_INSTANTIATE(T)                                                            \
  template class detail::Captures<T>;                                                   \
  template Variable<T> recompute(const std::function<Variable<T>(const Variable<T>&)>&, \
                                 const Variable<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

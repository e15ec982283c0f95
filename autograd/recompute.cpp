#include <xgrad/autograd/recompute.hpp>

#include <utility>

#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

template <class T>
struct Recompute final : Op<T> {
  using Function = std::function<Variable<T>(const Variable<T>&)>;

  Recompute(const Function& f, const Variable<T>& x, Value<T> y)
      : f(f), x(x.shared_value()), y(std::move(y)) {}
  const char* name() const override { return "recompute"; }

  Value<T> forward(const Inputs<T>&) override { return std::move(y); }

  // The graph of f that this makes ends at a leaf with the value of x; what arrives there is dx.
  // The gradients of f's own leaves arrive where they belong.
  void backward(Tensor<T> dy, Grads<T>& dx) const override {
    const Variable<T> leaf(x, std::make_shared<Node<T>>("leaf", x->shape()));
    f(leaf).backward(std::move(dy));
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
  Value<T> y;
  {
    const NoGrad no_grad;
    y = f(x).shared_value();
  }
  return apply<T>(std::make_unique<Recompute<T>>(f, x, std::move(y)), {x});
}

#define XGRAD_INSTANTIATE(T)                                                            \
  template Variable<T> recompute(const std::function<Variable<T>(const Variable<T>&)>&, \
                                 const Variable<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

#include <xgrad/autograd/recompute.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include <xgrad/autograd/autocast.hpp>
#include <xgrad/autograd/op.hpp>

namespace xgrad {

namespace detail {

template <class T>
static thread_local Captures<T>* newest = nullptr;

template <class T>
Captures<T>::Captures()
    : inside_(std::make_shared<Node<T>>("recompute", Shape{})), scoped_(newest<T>, this) {
  inside_->lost =
      "ends there: it is an inner result of a recompute(), used outside of its function";
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
  std::sort(nodes_.begin(), nodes_.end(), Older());
  nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
  recompute.captured = std::move(nodes_);
  recompute.saved = std::move(values_);
}

}  // namespace detail

namespace {

// Adds a word to a hash. The shift lets high bits affect all bits of later hashes. With the product
// alone, changing the signs of two words would leave the hash unchanged.
std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

// The bits of x, mixed into one word. An x87 long double has padding after its ten bytes.
template <class T>
std::uint64_t word(T x) {
  if constexpr (!std::is_same_v<T, long double>) {
    return std::bit_cast<std::uint64_t>(double(x));
  } else {
    std::uint64_t words[2] = {};
    std::memcpy(words, &x, std::numeric_limits<T>::digits == 64 ? 10 : sizeof x);
    return mix(words[0], words[1]);
  }
}

// A hash of all elements, in independent lanes for speed.
template <class T>
std::uint64_t hash(const Tensor<T>& x) {
  constexpr std::size_t kLanes = 8;
  std::array<std::uint64_t, kLanes> lanes{};
  const T* in = x.data();
  const std::size_t whole = x.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) lanes[l] = mix(lanes[l], word(in[i + l]));
  }
  for (std::size_t l = 0; whole + l < x.size(); ++l) lanes[l] = mix(lanes[l], word(in[whole + l]));
  return std::accumulate(lanes.begin(), lanes.end(), std::uint64_t(0), mix);
}

template <class T>
struct Recompute final : Op<T> {
  using Function = std::function<Variable<T>(const Variable<T>&)>;

  Recompute(const Function& f, const Variable<T>& x, Value<T> y, bool has_graph)
      : f(f),
        x(x.shared_value()),
        y(std::move(y)),
        has_graph(has_graph),
        bf16(autocast_enabled()),
        bits(hash(*this->y)) {}
  const char* name() const override { return "recompute"; }

  Value<T> forward(const Inputs<T>&) override { return std::move(y); }

  // The graph that f records here ends at a leaf with the value of x; the leaf's gradient is dx.
  // It also ends at the nodes that f captures. This op's node lists them, so that the outer
  // backward() passes their gradients on.
  void backward(Tensor<T>& dy, Grads<T>& dx) const override {
    check<GradientError>(grad_enabled(),
                         "recompute: backward must record a graph; call it outside of NoGrad");
    const Variable<T> leaf(x, std::make_shared<Node<T>>("leaf", x->shape()));
    const Autocast as_before(bf16);
    const Variable<T> again = f(leaf);
    check_defined(name(), "the result of its second run", again);
    check_same(again, dy.shape());
    if (!has_graph) return;
    detail::backward_within(again, std::move(dy), dx.node(), leaf.node()->id);
    if (leaf.has_grad()) dx.add(0, std::move(leaf.mutable_grad()));
  }

  void check_same(const Variable<T>& again, const Shape& shape) const {
    check<GradientError>(again.shape() == shape, "recompute: the function returned shape ", shape,
                         " in its first run, ", again.shape(), " in its second");
    check<GradientError>(again.requires_grad() == has_graph,
                         "recompute: the function's result requires a gradient only in its ",
                         has_graph ? "first" : "second", " run");
    check<GradientError>(hash(again.value()) == bits,
                         "recompute: the function returned other values in its second run; it must "
                         "read the same values, and take random numbers from an Rng");
  }

  Function f;
  Value<T> x, y;
  bool has_graph;      // whether the result depends on a Variable that requires a gradient
  bool bf16;           // whether the first run's products were in bfloat16
  std::uint64_t bits;  // a hash of the result
};

}  // namespace

template <class T>
Variable<T> recompute(const std::function<Variable<T>(const Variable<T>&)>& f,
                      const Variable<T>& x) {
  if (!x.requires_grad() || !grad_enabled()) return f(x);
  detail::Captures<T> captures;
  Value<T> value;
  bool has_graph = false;
  {
    const NoGrad no_grad;
    const Variable<T> result = f(x);
    check_defined("recompute", "the result of its function", result);
    captures.note(result);
    has_graph = result.requires_grad();
    // Copies a value that f did not compute, since it belongs to another Variable.
    value = captures.made(result) ? result.shared_value()
                                  : std::make_shared<Versioned<T>>(result.value());
  }
  const Variable<T> y =
      apply<T>(std::make_unique<Recompute<T>>(f, x, std::move(value), has_graph), {x});
  captures.move_to(*y.node());
  return y;
}

#define XGRAD_INSTANTIATE(T)          \
  template class detail::Captures<T>; \
  template decltype(recompute<T>) recompute<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

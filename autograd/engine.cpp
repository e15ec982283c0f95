// The reverse pass: recording, ordering, accumulating, undoing broadcasts, releasing.

#include <algorithm>
#include <atomic>
#include <utility>

#include <xgrad/autograd/axes.hpp>
#include <xgrad/autograd/elementwise.hpp>
#include <xgrad/autograd/large_blocks.hpp>
#include <xgrad/autograd/observer.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

std::atomic<std::uint64_t> next_id{1};
thread_local bool recording = true;

// Sums d over the axes along which `shape` was broadcast to d's shape.
template <class T>
Tensor<T> sum_to(const Tensor<T>& d, const Shape& shape) {
  Tensor<T> result = zeros<T>(shape);
  std::array<detail::Strides, 1> strides = {detail::broadcast_strides(shape, d.shape())};
  const Shape rows(d.shape().begin(), d.shape().end() - 1);
  const std::size_t width = d.shape().back();
  const bool sums_row = strides[0].back() == 0;
  strides[0].pop_back();
  const auto add_row = [&](std::size_t row, const auto& offsets) {
    const T* in = d.data() + row * width;
    T* out = result.data() + offsets[0];
    if (sums_row) {
      T sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::size_t i = 0; i < width; ++i) sum += in[i];
      *out += sum;
    } else {
#pragma omp simd
      for (std::size_t i = 0; i < width; ++i) out[i] += in[i];
    }
  };
  detail::for_each_index(rows, strides, 0, size_of(rows), add_row);
  return result;
}

template <class T>
void accumulate(Node<T>& node, Tensor<T> d) {
  if (!node.has_grad) {
    node.grad = std::move(d);
    node.has_grad = true;
    return;
  }
  T* sum = node.grad.data();
  const T* term = d.data();
  detail::for_elements(d.size(), [=](std::size_t i) { sum[i] += term[i]; });
}

// Whether `shape` broadcasts to `to`.
bool broadcasts_to(const Shape& shape, const Shape& to) {
  if (shape.size() > to.size()) return false;
  const std::size_t lead = to.size() - shape.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] != to[lead + axis] && shape[axis] != 1) return false;
  }
  return true;
}

// Everything that `root` depends on, in the order of creation.
template <class T>
std::vector<std::shared_ptr<Node<T>>> reachable(const std::shared_ptr<Node<T>>& root) {
  const std::uint64_t mark = next_id++;
  std::vector<std::shared_ptr<Node<T>>> nodes{root};
  root->mark = mark;
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    for (std::size_t i = 0; i < nodes[at]->inputs.size(); ++i) {
      const std::shared_ptr<Node<T>> input = nodes[at]->inputs[i];
      if (!input || input->mark == mark) continue;
      input->mark = mark;
      nodes.push_back(input);
    }
  }
  std::sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) { return a->id < b->id; });
  return nodes;
}

template <class T>
OpCall describe(const char* name, const Variable<T>* inputs, std::size_t count,
                const Value<T>& result, const Node<T>* node) {
  OpCall call{name, OpCall::Kind::forward, sizeof(T), {}, {result.get(), result->shape(), false}};
  if (node) call.node = node->id;
  for (const Variable<T>* x = inputs; x != inputs + count; ++x) {
    call.inputs.push_back(x->defined()
                              ? Operand{x->shared_value().get(), x->shape(), x->requires_grad()}
                              : Operand{});
  }
  return call;
}

template <class T>
OpCall describe_backward(const Node<T>& node) {
  OpCall call{node.name, OpCall::Kind::backward, sizeof(T), {}, {nullptr, node.shape, true}};
  call.node = node.id;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Node<T>* input = node.inputs[i].get();
    const void* gradient = input && input->has_grad ? &input->grad : nullptr;
    call.inputs.push_back({gradient, node.input_shapes[i], input != nullptr});
  }
  return call;
}

}  // namespace

NoGrad::NoGrad() : before_(std::exchange(recording, false)) {}
NoGrad::~NoGrad() {
  recording = before_;
}
bool grad_enabled() {
  return recording;
}

template <class T>
Node<T>::Node(const char* name, const Shape& shape) : id(next_id++), name(name), shape(shape) {}

template <class T>
Node<T>::~Node() {
  std::vector<std::shared_ptr<Node>> doomed = std::move(inputs);
  while (!doomed.empty()) {
    const std::shared_ptr<Node> node = std::move(doomed.back());
    doomed.pop_back();
    if (!node || node.use_count() > 1) continue;
    std::move(node->inputs.begin(), node->inputs.end(), std::back_inserter(doomed));
    node->inputs.clear();
  }
}

template <class T>
void Op<T>::backward(Tensor<T>, Grads<T>&) const {
  detail::fail<GradientError>(name(), ": this op has no backward");
}

template <class T>
bool Grads<T>::wants(std::size_t i) const {
  return node_.inputs[i] != nullptr;
}

template <class T>
void Grads<T>::add(std::size_t i, Tensor<T> d) {
  if (!wants(i)) return;
  const Shape& shape = node_.input_shapes[i];
  if (d.shape() != shape) {
    check_shape(broadcasts_to(shape, d.shape()), node_.name, ": backward gives input ", i,
                " a gradient of shape ", d.shape(), ", the input has ", shape);
    d = sum_to(d, shape);
  }
  accumulate(*node_.inputs[i], std::move(d));
}

template <class T>
typename Grads<T>::Target Grads<T>::target(std::size_t i) {
  Node<T>& input = *node_.inputs[i];
  const bool fresh = !input.has_grad;
  // A leaf may have kept its buffer; an inner node has given its own away.
  if (fresh && (input.op || input.grad.shape() != input.shape)) input.grad = empty<T>(input.shape);
  input.has_grad = true;  // only now: memory may have run out
  return {input.grad.data(), fresh};
}

template <class T>
static std::shared_ptr<Node<T>> record(std::unique_ptr<Op<T>> op, const Variable<T>* inputs,
                                       std::size_t count, const Shape& shape) {
  auto node = std::make_shared<Node<T>>(op->name(), shape);
  node->inputs.reserve(count);
  node->input_shapes.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    node->inputs.push_back(inputs[i].node());
    node->input_shapes.push_back(inputs[i].defined() ? inputs[i].shape() : Shape{});
  }
  node->op = std::move(op);
  return node;
}

template <class T>
static Variable<T> apply(std::unique_ptr<Op<T>> op, const Variable<T>* inputs, std::size_t count) {
  OpObserver* const observer = op_observer();
  const char* const name = op->name();
  if (observer) observer->begin(name);
  Value<T> value = op->forward(Inputs<T>(inputs, count));
  const bool wanted =
      std::any_of(inputs, inputs + count, [](const Variable<T>& x) { return x.requires_grad(); });
  std::shared_ptr<Node<T>> node;
  if (wanted && recording) node = record(std::move(op), inputs, count, value->shape());
  if (observer) {
    observer->done();
    observer->end(describe(name, inputs, count, value, node.get()));
  }
  return Variable<T>(std::move(value), std::move(node));
}

template <class T>
Variable<T> apply(std::unique_ptr<Op<T>> op, std::initializer_list<Variable<T>> inputs) {
  return apply(std::move(op), inputs.begin(), inputs.size());
}

template <class T>
Variable<T> apply(std::unique_ptr<Op<T>> op, const std::vector<Variable<T>>& inputs) {
  return apply(std::move(op), inputs.data(), inputs.size());
}

template <class T>
Variable<T>::Variable(Tensor<T> value, bool requires_grad)
    : value_(std::make_shared<Tensor<T>>(std::move(value))) {
  if (requires_grad) node_ = std::make_shared<Node<T>>("leaf", value_->shape());
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
  check<GradientError>(has_grad(), "grad: no gradient has reached this variable of shape ",
                       defined() ? shape() : Shape{});
  return node_->grad;
}

template <class T>
void Variable<T>::zero_grad() const {
  if (!node_) return;
  node_->has_grad = false;
  // The next forward's activations take a large one's memory, and are gone when it is written
  // again; to allocate a small one anew takes longer than many an op of a small model.
  if (node_->grad.size() * sizeof(T) >= detail::LargeBlocks::kSmallest) node_->grad = {};
}

template <class T>
Variable<T> Variable<T>::detach() const {
  return Variable(value_, nullptr);
}

// Hands the gradient that has arrived at a node on to its inputs.
template <class T>
static void step_back(Node<T>& node, bool retain_graph) {
  if (!node.op || !node.has_grad) return;
  node.has_grad = false;
  Grads<T> dx(node);
  OpObserver* const observer = op_observer();
  if (observer) observer->begin(node.name);
  node.op->backward(std::move(node.grad), dx);
  if (observer) {
    observer->done();
    observer->end(describe_backward(node));
  }
  if (retain_graph) return;
  node.op.reset();  // with what it saved: memory falls during the walk
  node.inputs.clear();
  node.released = true;
}

template <class T>
void Variable<T>::backward(Tensor<T> dy, bool retain_graph) const {
  check<GradientError>(requires_grad(), "backward: nothing here requires a gradient");
  check_shape(dy.shape() == shape(), "backward: dy has shape ", dy.shape(), ", the output ",
              shape());
  std::vector<std::shared_ptr<Node<T>>> nodes = reachable(node_);
  for (const auto& node : nodes) {
    check<GradientError>(!node->released, "backward: the graph of '", node->name,
                         "' was released by an earlier backward; pass retain_graph to keep it");
  }
  // Leaves that wait for their first gradient stay in front: they are wanted if the walk throws.
  const auto waits = [](const auto& node) { return !node->op && !node->has_grad; };
  const auto walked = std::stable_partition(nodes.begin(), nodes.end(), waits);
  const auto waiting = std::size_t(walked - nodes.begin());
  try {
    accumulate(*node_, std::move(dy));
    // From the newest to the oldest.
    for (; nodes.size() > waiting; nodes.pop_back()) step_back(*nodes.back(), retain_graph);
  } catch (...) {
    // A part of a gradient must not add to those of a later walk, nor be taken for a whole one.
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (i < waiting || nodes[i]->op) nodes[i]->has_grad = false;
    }
    throw;
  }
}

template <class T>
void Variable<T>::backward(bool retain_graph) const {
  check_shape(value_->size() == 1,
              "backward: without dy the output must have one element, not shape ", shape());
  backward(full(shape(), T(1)), retain_graph);
}

#define XGRAD_INSTANTIATE(T)                                                              \
  template struct Node<T>;                                                                \
  template class Op<T>;                                                                   \
  template class Grads<T>;                                                                \
  template class Variable<T>;                                                             \
  template Variable<T> apply(std::unique_ptr<Op<T>>, std::initializer_list<Variable<T>>); \
  template Variable<T> apply(std::unique_ptr<Op<T>>, const std::vector<Variable<T>>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

// The engine of backward(): records, walks and releases graphs, and accumulates gradients.

#include <algorithm>
#include <atomic>
#include <utility>

#include <xgrad/autograd/detail/claimed_leaves.hpp>
#include <xgrad/autograd/kernels/loops.hpp>
#include <xgrad/autograd/observer.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/recompute.hpp>

namespace xgrad {

namespace {

std::atomic<std::uint64_t> next_id{1};

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
      *out += detail::row_sum(in, width);
    } else {
#pragma omp simd
      for (std::size_t i = 0; i < width; ++i) out[i] += in[i];
    }
  };
  detail::for_each_index(rows, strides, 0, size_of(rows), add_row);
  return result;
}

template <class T>
void accumulate(Node<T>& node, Tensor<T>&& d) {
  if (!node.has_grad) {
    node.grad = std::move(d);
    node.has_grad = true;
    return;
  }
  T* sum = node.arrived().data();
  const T* term = d.data();
  detail::for_elements(d.size(), [=](std::size_t i) { sum[i] += term[i]; });
  detail::free_elements(d);
}

// Whether `shape` broadcasts to `to`.
bool broadcasts_to(const Shape& shape, const Shape& to) {
  const auto fits = [](std::size_t extent, std::size_t wide) {
    return extent == wide || extent == 1;
  };
  return shape.size() <= to.size() && std::equal(shape.rbegin(), shape.rend(), to.rbegin(), fits);
}

template <class T>
using Nodes = std::vector<std::shared_ptr<Node<T>>>;

template <class T>
using Claimed = detail::ClaimedLeaves<T>;

// Calls f for the inputs of a node that do not have this mark yet, and marks them. Claims all
// inputs that are leaves.
template <class T, class F>
void for_each_input(const Node<T>& node, std::uint64_t mark, Claimed<T>& claimed, const F& f) {
  for (const auto* inputs : {&node.inputs, &node.captured}) {
    for (const std::shared_ptr<Node<T>>& input : *inputs) {
      if (!input) continue;
      if (!input->op) claimed.add(input);
      if (input->mark == mark) continue;
      input->mark = mark;
      f(input);
    }
  }
}

// The nodes that `root` depends on, oldest first. Does not visit the inputs of nodes older than
// `first`.
template <class T>
Nodes<T> reachable(const std::shared_ptr<Node<T>>& root, std::uint64_t first, Claimed<T>& claimed) {
  const std::uint64_t mark = next_id++;
  Nodes<T> nodes{root};
  if (!root->op) claimed.add(root);
  root->mark = mark;
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    const Node<T>& node = *nodes[at];  // stays valid when `nodes` reallocates
    if (node.id < first) continue;
    for_each_input(node, mark, claimed, [&](const auto& input) { nodes.push_back(input); });
  }
  std::sort(nodes.begin(), nodes.end(), detail::Older());
  return nodes;
}

// A leaf, and the oldest node that reads it. The backward of this node completes the leaf's
// gradient.
template <class T>
struct LastUse {
  std::uint64_t node;
  std::shared_ptr<Node<T>> leaf;
};

// The last uses of all leaves. `nodes` are ordered from the oldest on, and so is the result.
template <class T>
std::vector<LastUse<T>> last_uses(const Nodes<T>& nodes, Claimed<T>& claimed) {
  const std::uint64_t mark = next_id++;
  std::vector<LastUse<T>> uses;
  for (const auto& node : nodes) {
    for_each_input(*node, mark, claimed, [&](const auto& input) {
      if (!input->op) uses.push_back({node->id, input});
    });
  }
  return uses;
}

// Throws GradientError if the node has lost its graph, or if a value that its backward needs has
// changed.
template <class T>
void check_whole(const Node<T>& node) {
  check<GradientError>(!node.lost, "backward: the graph of '", node.name, "' ", node.lost);
  for (const Unchanged<T>& saved : node.saved) {
    check<GradientError>(saved.holds(), "backward: a value that '", node.name,
                         "' needs was changed after its forward");
  }
}

template <class T>
OpCall describe(const char* name, const Variable<T>* inputs, std::size_t count,
                const Value<T>& result, const Node<T>* node) {
  OpCall call{name, OpCall::Kind::forward, sizeof(T), {}, {result.get(), result->shape(), false}};
  if (node) call.node = node->id;
  call.owner = result;
  for (const Variable<T>* x = inputs; x != inputs + count; ++x) {
    call.inputs.push_back(x->defined() ? Operand{&x->value(), x->shape(), x->requires_grad()}
                                       : Operand{});
  }
  return call;
}

template <class T>
OpCall describe_backward(const Node<T>& node) {
  OpCall call{node.name, OpCall::Kind::backward, sizeof(T), {}, {nullptr, node.shape, true}};
  call.node = node.id;
  for (const std::shared_ptr<Node<T>>& input : node.inputs) {
    const void* gradient = input && input->has_grad ? &input->grad : nullptr;
    call.inputs.push_back(input ? Operand{gradient, input->shape, true} : Operand{});
  }
  return call;
}

}  // namespace

template <class T>
Node<T>::Node(const char* name, const Shape& shape) : id(next_id++), name(name), shape(shape) {}

template <class T>
Node<T>::~Node() {
  // Freeing a node's parts may free more nodes. These move their parts to `waiting`, so that
  // nothing recurses. The op is one of the parts because a recompute() holds nodes in its function.
  struct Parts {
    std::unique_ptr<Op<T>> op;
    std::vector<std::shared_ptr<Node>> inputs, captured;
  };
  thread_local std::vector<Parts>* waiting = nullptr;  // null: no node is being freed
  if (!op) return;
  std::vector<Parts> mine;
  const bool outermost = waiting == nullptr;
  if (outermost) waiting = &mine;
  waiting->push_back({std::move(op), std::move(inputs), std::move(captured)});
  if (!outermost) return;
  while (!mine.empty()) {
    const Parts parts = std::move(mine.back());
    mine.pop_back();
  }
  waiting = nullptr;
}

template <class T>
void Op<T>::backward(Tensor<T>&, Grads<T>&) const {
  detail::fail<GradientError>(name(), ": this op has no backward");
}

template <class T>
Saved<T> Inputs<T>::save(std::size_t i) const {
  const Value<T>& value = begin_[i].shared_value();
  // The result of a recorded op cannot change, so its version needs no check.
  if (saved_ && value && !value->recorded) {
    if (saved_->empty()) saved_->reserve(size_);
    saved_->emplace_back(value);
  }
  return value;
}

template <class T>
bool Grads<T>::wants(std::size_t i) const {
  return node_.inputs[i] != nullptr;
}

template <class T>
void Grads<T>::add(std::size_t i, Tensor<T>&& d) {
  if (!wants(i)) return detail::free_elements(d);
  const Shape& shape = this->shape(i);
  if (!detail::has_shape(d, shape)) {
    check_shape(detail::has_shape(d, d.shape()), node_.name, ": backward: gradient of input ", i,
                ": an earlier add() has taken its elements");
    check_shape(broadcasts_to(shape, d.shape()), node_.name, ": backward: gradient of input ", i,
                ": expected ", shape, ", got ", d.shape());
    d = sum_to(d, shape);
  }
  accumulate(*node_.inputs[i], std::move(d));
}

template <class T>
typename Grads<T>::Target Grads<T>::target(std::size_t i) {
  Node<T>& input = *node_.inputs[i];
  const bool fresh = !input.has_grad;
  // A leaf may still have its buffer; step_back() has freed that of an inner node.
  const bool reuse = !fresh || detail::has_shape(input.grad, input.shape);
  if (!reuse) input.grad.resize(input.shape, /*force=*/true);
  input.has_grad = true;  // last, since the allocation may throw
  return {input.arrived().data(), fresh};
}

void detail::check_left_out(const char* op, std::string_view arguments, std::size_t i) {
  std::size_t rest = i;  // index of the input among those that the next name stands for
  for (std::size_t space = 0; rest > 0 && (space = arguments.find(' ')) != arguments.npos; --rest) {
    arguments.remove_prefix(space + 1);
  }
  std::string name(arguments.substr(0, arguments.find(' ')));
  if (name.ends_with('?')) return;
  if (name.empty()) name = "input " + std::to_string(i);
  if (name.ends_with("[]")) name.insert(name.size() - 1, std::to_string(rest));
  check_shape(false, op, ": ", name, ": expected a value, got a Variable without one");
}

template <class T>
static std::shared_ptr<Node<T>> record(std::unique_ptr<Op<T>> op, const Variable<T>* inputs,
                                       std::size_t count, const Shape& shape) {
  auto node = std::make_shared<Node<T>>(op->name(), shape);
  node->inputs.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (inputs[i].node()) inputs[i].node()->check_value(inputs[i].value());
    node->inputs.push_back(inputs[i].node());
  }
  node->op = std::move(op);
  return node;
}

template <class T>
static Variable<T> apply(std::unique_ptr<Op<T>> op, const Variable<T>* inputs, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!inputs[i].defined()) detail::check_left_out(op->name(), op->arguments(), i);
  }
  OpObserver* const observer = op_observer();
  const char* const name = op->name();
  if (observer) observer->begin(name);
  const bool wanted =
      std::any_of(inputs, inputs + count, [](const Variable<T>& x) { return x.requires_grad(); });
  const bool records = wanted && grad_enabled();
  std::vector<Unchanged<T>> saved;
  Value<T> value = op->forward(Inputs<T>(inputs, count, records ? &saved : nullptr));
  std::shared_ptr<Node<T>> node;
  if (records) {
    node = record(std::move(op), inputs, count, value->shape());
    node->saved = std::move(saved);
    value->recorded = true;
  }
  if (observer) {
    observer->done();
    observer->end(describe(name, inputs, count, value, node.get()));
  }
  if (detail::Captures<T>* const captures = detail::Captures<T>::current(); captures && !records) {
    std::for_each(inputs, inputs + count, [&](const Variable<T>& x) { captures->note(x); });
    if (wanted) node = captures->inside();
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

// Passes a node's gradient on to its inputs.
template <class T>
static void step_back(Node<T>& node, bool retain_graph) {
  if (!node.op || !node.has_grad) return;
  node.has_grad = false;
  Grads<T> dx(node);
  OpObserver* const observer = op_observer();
  if (observer) observer->begin(node.name);
  node.op->backward(node.grad, dx);
  detail::free_elements(node.grad);  // if the op did not take them
  if (observer) {
    observer->done();
    observer->end(describe_backward(node));
  }
  if (retain_graph) return;
  node.op.reset();  // frees what the op saved, so that memory falls during the walk
  node.inputs.clear();
  node.captured.clear();
  node.saved.clear();
  node.lost = "was released by an earlier backward; pass retain_graph to keep it";
}

// Passes gradients from the newest of `nodes` to the oldest. Leaves, and nodes older than `first`,
// keep their gradients. Reports the leaves of `uses` to OnGradient.
template <class T>
static void walk(Nodes<T> nodes, Node<T>& root, Tensor<T> dy, std::uint64_t first,
                 bool retain_graph, std::vector<LastUse<T>> uses = {}) {
  const auto ends = [first](const auto& node) { return !node->op || node->id < first; };
  // Leaves and older nodes that have no gradient yet come first. They stay in `nodes`, so that the
  // catch block can clear their gradients.
  const auto waits = [&](const auto& node) { return ends(node) && !node->has_grad; };
  const auto walked = std::stable_partition(nodes.begin(), nodes.end(), waits);
  const auto waiting = std::size_t(walked - nodes.begin());
  try {
    accumulate(root, std::move(dy));
    for (; nodes.size() > waiting; nodes.pop_back()) {
      if (!ends(nodes.back())) step_back(*nodes.back(), retain_graph);
      for (; !uses.empty() && uses.back().node == nodes.back()->id; uses.pop_back()) {
        (*OnGradient<T>::current())(*uses.back().leaf);
      }
    }
  } catch (...) {
    // Drops partial sums, so that neither a caller nor a later walk takes them for gradients.
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (i >= waiting && ends(nodes[i])) continue;
      nodes[i]->has_grad = false;
      if (nodes[i]->op) detail::free_elements(nodes[i]->grad);
    }
    throw;
  }
}

template <class T>
void Variable<T>::backward(Tensor<T> dy, bool retain_graph) const {
  check<GradientError>(requires_grad(),
                       "backward: this Variable does not depend on one that requires a gradient");
  node_->check_value(value());
  check_shape(dy.shape() == shape(), "backward: dy: expected ", shape(), ", got ", dy.shape());
  Claimed<T> claimed;
  Nodes<T> nodes = reachable(node_, 0, claimed);
  for (const auto& node : nodes) check_whole(*node);
  std::vector<LastUse<T>> uses;
  if (OnGradient<T>::current() != nullptr) uses = last_uses(nodes, claimed);
  walk(std::move(nodes), *node_, std::move(dy), 0, retain_graph, std::move(uses));
}

template <class T>
void detail::backward_within(const Variable<T>& y, Tensor<T> dy, const Node<T>& recompute,
                             std::uint64_t first) {
  Claimed<T> claimed;  // the outer backward() has claimed the leaves that `recompute` lists
  Nodes<T> nodes = reachable(y.node(), first, claimed);
  const auto& captured = recompute.captured;
  for (const auto& node : nodes) {
    if (node->id >= first) {
      check_whole(*node);
      continue;
    }
    check<GradientError>(
        std::binary_search(captured.begin(), captured.end(), node, detail::Older()),
        "recompute: in its second run the function used a Variable from outside ('", node->name,
        "') that it did not use in the first");
  }
  walk(std::move(nodes), *y.node(), std::move(dy), first, /*retain_graph=*/false);
}

template <class T>
void Variable<T>::backward(bool retain_graph) const {
  check<GradientError>(defined(), "backward: this Variable has no value");
  check_shape(value_->size() == 1,
              "backward: without dy expected an output of one element, got shape ", shape());
  backward(full(shape(), T(1)), retain_graph);
}

#define XGRAD_INSTANTIATE(T)                                                              \
  template struct Node<T>;                                                                \
  template class Op<T>;                                                                   \
  template class Inputs<T>;                                                               \
  template class Grads<T>;                                                                \
  template void Variable<T>::backward(Tensor<T>, bool) const;                             \
  template void Variable<T>::backward(bool) const;                                        \
  template Variable<T> apply(std::unique_ptr<Op<T>>, std::initializer_list<Variable<T>>); \
  template Variable<T> apply(std::unique_ptr<Op<T>>, const std::vector<Variable<T>>&);    \
  template decltype(detail::backward_within<T>) detail::backward_within<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

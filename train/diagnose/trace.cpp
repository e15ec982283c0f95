#include <xgrad/train/diagnose/trace.hpp>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/tensor.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/model/objective.hpp>

namespace xgrad {

namespace {

template <class T>
double largest_magnitude(const Tensor<T>& x) {
  double largest = 0;
  for (const T element : x) largest = std::max(largest, std::abs(double(element)));
  return largest;
}

template <class T>
using Seen = std::pair<OpPlace, Tensor<T>>;

// Returns every output and gradient of the step, in order. Reads the training data only if a
// setting depends on them.
template <class T>
std::vector<Seen<T>> run(const Checkpoint& failed, const Config& config) {
  const TrainConfig& train = config.train;
  const std::unique_ptr<Task> task = make_task(config, &failed);
  const TaskShape shape = task->shape();
  Parameters<T> parameters(train.seed);
  const auto model = make_model<T>(config, shape, parameters);
  restore_weights(failed.parameters, "the failed step", parameters);

  std::vector<Seen<T>> seen;
  const Trace<T> trace(parameters, [&](const OpPlace& place, const Tensor<T>& x) {
    seen.push_back({place, x});
  });
  const std::vector<Batch> batches = batches_of(failed);
  const bool counts_steps = train.epochs > 0 && train.dropout_start != train.dropout_end;
  std::unique_ptr<Dataset> data;
  if (train.balanced_classes || counts_steps) data = task->dataset(Split::train);
  const std::uint64_t steps = planned_steps(train, data ? data->size() : 0);
  const Objective objective = training_objective(train, shape, data.get());
  const Context context = training_context(train, failed.step, steps);
  for (std::size_t i = 0; i < train.shards; ++i) {
    forward_backward<T>(*model, objective, batches, context, {}, {i, train.shards}, shape.output);
  }
  return seen;
}

template <class T, class U>
ReplayRow compare(const OpPlace& place, const Tensor<T>& x, const Tensor<U>& reference) {
  check<CheckpointError>(x.shape() == reference.shape(), to_string(place), " has shape ", x.shape(),
                         ", the reference has ", reference.shape());
  const auto fault = first_not_finite(x), other = first_not_finite(reference);
  ReplayRow row{place, x.shape(), !fault, !other};
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double r = double(reference.data()[i]), d = std::abs(double(x.data()[i]) - r);
    row.largest = std::max(row.largest, std::abs(r));
    if (d > worst) row.worst = i;
    worst = std::max(worst, d);
  }
  row.difference = worst == 0 ? 0 : worst / std::max(row.largest, 1e-30);
  if (fault || other) row.worst = fault ? *fault : *other;
  return row;
}

}  // namespace

std::string to_string(const OpPlace& place) {
  return "op " + std::to_string(place.number) + " " + place.op +
         (place.module.empty() ? "" : " in " + place.module) +
         (place.tensor.empty() ? "" : ": " + place.tensor);
}

template <class T>
Trace<T>::Trace(const Parameters<T>& parameters, See see, SeeCall see_call)
    : see_(std::move(see)),
      see_call_(std::move(see_call)),
      before_(op_observer()),
      observing_(*this) {
  for (const Parameter<T>& p : parameters) {
    names_[p.variable.shared_value().get()] = p.name;
    if (p.variable.requires_grad()) names_[&p.variable.node()->grad] = p.name;
    made_[p.variable.shared_value().get()] = {0, p.name.substr(0, p.name.rfind('.'))};
  }
}

template <class T>
void Trace<T>::end(const OpCall& call) {
  if (before_ != nullptr) before_->end(call);
  if (call.scalar != sizeof(T)) return;
  if (call.kind == OpCall::Kind::forward) forward(call);
  if (call.kind == OpCall::Kind::backward) backward(call);
}

template <class T>
void Trace<T>::forward(const OpCall& call) {
  OpPlace place{++count_, call.name, "", ""};
  std::size_t latest = 0;
  for (const Operand& x : call.inputs) {
    const auto made = made_.find(x.value);
    if (x.value == nullptr || made == made_.end()) continue;
    const auto& [number, module] = made->second;
    const bool own = names_.contains(x.value);
    if (own || number > latest) place.module = module;
    if (own) break;
    latest = std::max(latest, number);
  }
  made_[call.result.value] = {place.number, place.module};  // a reused address is overwritten here
  if (call.node != 0) places_[call.node] = place;
  if (see_call_) see_call_(place, call);
  place.tensor = "output";
  if (see_) see_(place, *static_cast<const Tensor<T>*>(call.result.value));
}

template <class T>
void Trace<T>::backward(const OpCall& call) {
  const auto found = places_.find(call.node);
  if (found == places_.end()) return;  // its forward ran before this trace
  OpPlace place = found->second;
  if (see_call_) see_call_(place, call);
  for (std::size_t i = 0; see_ && i < call.inputs.size(); ++i) {
    const void* gradient = call.inputs[i].value;
    if (gradient == nullptr) continue;
    const auto name = names_.find(gradient);
    place.tensor =
        "gradient of " + (name == names_.end() ? "input " + std::to_string(i) : name->second);
    see_(place, *static_cast<const Tensor<T>*>(gradient));
  }
}

template <class T>
GradientFlow<T>::GradientFlow(const Parameters<T>& parameters)
    : trace_(parameters, {}, [this](const OpPlace& place, const OpCall& call) {
        call.kind == OpCall::Kind::forward ? forward(place, call) : backward(call);
      }) {
  for (const Parameter<T>& p : parameters) {
    made_at_[p.variable.shared_value().get()] = made_.size();
    made_.push_back({"the parameter"});
  }
}

template <class T>
void GradientFlow<T>::forward(const OpPlace& place, const OpCall& call) {
  Ran op{{}, made_.size(), call.node != 0};
  for (const Operand& x : call.inputs) {
    const auto found = made_at_.find(x.value);
    op.reads.push_back({found == made_at_.end() ? kConstant : found->second, x.gradient});
  }
  if (op.recorded) op_of_[call.node] = ops_.size();
  made_at_[call.result.value] = made_.size();
  made_.push_back({to_string(place), false, 0, call.owner});
  ops_.push_back(std::move(op));
}

template <class T>
void GradientFlow<T>::backward(const OpCall& call) {
  const auto found = op_of_.find(call.node);
  if (found == op_of_.end()) return;  // its forward ran before this object
  const Ran& op = ops_[found->second];
  // No op passed a gradient to this output, so backward() began there.
  if (Made& output = made_[op.output]; !output.arrived) {
    output.arrived = true;
    output.gradient = 1;
    losses_.push_back(op.output);
  }
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const void* const gradient = call.inputs[i].value;
    if (gradient == nullptr || op.reads[i].made == kConstant) continue;
    Made& input = made_[op.reads[i].made];
    input.arrived = true;
    input.gradient = largest_magnitude(*static_cast<const Tensor<T>*>(gradient));
  }
}

template <class T>
double GradientFlow<T>::gradient_of(const Variable<T>& x) const {
  const auto found = made_at_.find(x.shared_value().get());
  return found == made_at_.end() ? 0 : made_[found->second].gradient;
}

template <class T>
std::string GradientFlow<T>::end_of(const Parameter<T>& parameter) const {
  const std::size_t start = made_at_.at(parameter.variable.shared_value().get());
  std::vector<bool> needed(made_.size());  // whether the loss depends on it
  for (const std::size_t loss : losses_) needed[loss] = true;
  for (std::size_t i = ops_.size(); i-- > 0;) {
    for (const Read& read : ops_[i].reads) {
      if (needed[ops_[i].output] && read.made != kConstant) needed[read.made] = true;
    }
  }
  // Values that depend on the parameter, are in the graph and have no gradient.
  std::vector<bool> dead(made_.size());
  dead[start] = true;
  std::size_t last = start;
  std::string stops, cut;
  for (const Ran& op : ops_) {
    const std::string& name = made_[op.output].name;
    for (const Read& read : op.reads) {
      if (read.made == kConstant || !dead[read.made]) continue;
      if (!op.recorded || !read.gradient) {
        const std::string& source = made_[read.made].name;
        const std::string what = read.made == start ? source : "the output of " + source;
        if (needed[op.output]) cut = name + " reads " + what + " without a gradient";
      } else if (made_[op.output].gradient != 0) {
        stops = name + " has a gradient, but passes on " +
                (made_[read.made].arrived ? "only zeros" : "none");
      } else {
        dead[op.output] = true;
        last = op.output;
      }
    }
  }
  if (!stops.empty() || !cut.empty()) return stops.empty() ? cut : stops;
  return last == start ? "no op reads it" : "the loss does not depend on " + made_[last].name;
}

std::vector<ReplayRow> replay(const Checkpoint& failed) {
  const Config config =
      parse_config(failed.config, "the failed step's config", {}, ConfigWriter::xgrad);
  return with_precision(config, [&]<class T>() {
    using Reference = std::conditional_t<std::is_same_v<T, float>, double, long double>;
    const std::vector<Seen<T>> seen = run<T>(failed, config);
    const std::vector<Seen<Reference>> reference = run<Reference>(failed, config);
    check<CheckpointError>(seen.size() == reference.size(), "the step makes ", seen.size(),
                           " tensors, the reference has ", reference.size());
    std::vector<ReplayRow> rows;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      rows.push_back(compare(seen[i].first, seen[i].second, reference[i].second));
    }
    return rows;
  });
}

#define XGRAD_INSTANTIATE(T) \
  template class Trace<T>;   \
  template class GradientFlow<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

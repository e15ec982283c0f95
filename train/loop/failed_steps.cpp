// How a trainer handles failed steps: finds the cause, then stops, skips the step or goes back.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <xgrad/optim/clip.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/diagnose/trace.hpp>
#include <xgrad/train/loop/trainer.hpp>

namespace xgrad {

// Leaves out the sign of NaN, which depends on the processor.
static std::string number_text(double x) {
  return std::isnan(x) ? "nan" : fmt::format("{}", x);
}

// Describes the first NaN or infinity of x, which is the part of a tensor of this shape from
// `first` on.
template <class T>
static std::string failure_in(const Tensor<T>& x, const std::string& name, const Shape& shape,
                              std::size_t first = 0) {
  const auto at = first_not_finite(x);
  if (!at) return "";
  return fmt::format("{}{} of {} is {}", name, index_text(shape, first + *at), to_string(shape),
                     number_text(double(x.data()[*at])));
}

static std::string with_others(const std::string& name, std::size_t others) {
  return others == 0 ? name : fmt::format("{} and {} more", name, others);
}

// A line for each op at which gradients end: "NAME and 3 more: op 6 relu ...".
template <class T>
static std::string ends_of(const GradientFlow<T>& flow, std::vector<const Parameter<T>*> dead) {
  std::string text;
  while (!dead.empty()) {
    const Parameter<T>* first = dead.front();
    const std::string end = flow.end_of(*first);
    const std::size_t alike = std::erase_if(dead, [&](auto* p) { return flow.end_of(*p) == end; });
    text += "\n  " + with_others(first->name, alike - 1) + ": " + end;
  }
  return text;
}

template <class T>
std::string Trainer<T>::failure_of_parameters() const {
  const Parameter<T>* p = first_not_finite(parameters_);
  return p == nullptr ? "" : failure_in(p->value(), "parameter " + p->name, p->value().shape());
}

template <class T>
std::string Trainer<T>::failure_of_state() const {
  std::string found = failure_of_parameters();
  for_each_state([&](const OptimizerState<T>& s) {
    if (found.empty()) found = failure_in(s.tensor, s.name, s.shape, s.first);
  });
  return first_text(shards_.ranks(), found);
}

template <class T>
std::string Trainer<T>::failure_of(const StepReport& report) const {
  const double norm = report.grad_norm;
  if (!is_finite_bits(report.loss)) return "the loss is " + number_text(report.loss);
  if (!is_finite_bits(norm)) return "the gradient norm is " + number_text(norm);
  if (!progress_.spikes.is_spike(norm)) return "";
  return fmt::format("the gradient norm is {:.3g}, more than {:g} times its mean, {:.3g}", norm,
                     config_.train.spike, progress_.spikes.state().mean);
}

template <class T>
void Trainer<T>::repeat_batches(const SeeLoss<T>& see) {
  StepReport again{.step = step() + 1};
  const bool recompute = std::exchange(config_.train.recompute, false);
  run_batches(again, see);
  config_.train.recompute = recompute;
}

// Once a task is solved, the gradient of the loss is 0, or so small that it becomes 0 on its way
// through the model. This is no fault. A product of two numbers above kVisible does not become 0.
template <class T>
void Trainer<T>::check_gradients(StepReport& report) {
  static const double kVisible = std::sqrt(double(std::numeric_limits<T>::min()));
  const std::uint64_t every = config_.train.dead_gradients_every;
  if (every == 0) return;
  dead_gradients_.observe();
  if (report.step != 1 && report.step % every != 0) return;
  for (const std::string& alive : gather_texts(shards_.ranks(), dead_gradients_.alive())) {
    dead_gradients_.join(alive);
  }
  const std::vector<const Parameter<T>*> dead = dead_gradients_.take();
  if (dead.empty()) return;

  double largest = 0;
  const GradientFlow<T> flow(parameters_);
  repeat_batches([&](const TrainingLoss<T>& loss, const Batch&) {
    largest = std::max(largest, flow.gradient_of(loss.outputs));
  });
  for (const double other : gather_all(shards_.ranks(), largest)) {
    largest = std::max(largest, other);
  }
  if (largest < kVisible) return;
  report.failure = "no gradient reaches " + with_others(dead.front()->name, dead.size() - 1);
  report.where =
      ends_of(flow, dead) +
      "\n  freeze such parameters in optim.groups, or set train.dead_gradients_every = 0";
}

// A second run of the step finds where a NaN or infinity came first.
template <class T>
void Trainer<T>::end(const StepReport& report, TrainerHooks& hooks) {
  std::string text = fmt::format("step {}: {}; nothing was updated", report.step, report.failure);
  if (!is_finite_bits(report.loss) || !is_finite_bits(report.grad_norm)) {
    std::string found;
    const Trace<T> trace(parameters_, [&](const OpPlace& place, const Tensor<T>& x) {
      if (found.empty() && first_not_finite(x)) found = failure_in(x, to_string(place), x.shape());
    });
    repeat_batches();
    found = first_text(shards_.ranks(), found);
    text += found.empty()
                ? "\n  not reproduced: a second run of the step is finite, so memory or processor "
                  "may be faulty"
                : "\n  first not finite: " + found;
  }
  text += report.where;
  text += hooks.on_fatal_step(failed_step(capture(), batches_, text));
  progress_.loader = loader_.state();
  throw NumericError(text);
}

template <class T>
bool Trainer<T>::recover(const StepReport& report, TrainerHooks& hooks) {
  if (!report.where.empty()) return false;
  if (progress_.is_fatal(config_.train.on_spike, !failure_of_state().empty())) return false;
  if (rolls_back_) {
    Progress earlier(config_, &*saved_);
    earlier.loader = loader_.state();
    earlier.failures_in_a_row = progress_.failures_in_a_row;
    restore(*saved_, earlier);
  } else {
    end_step();
  }
  hooks.on_failed_step(report, step());
  return true;
}

#define XGRAD_INSTANTIATE(T)                                            \
  template std::string Trainer<T>::failure_of_parameters() const;       \
  template std::string Trainer<T>::failure_of_state() const;            \
  template std::string Trainer<T>::failure_of(const StepReport&) const; \
  template void Trainer<T>::repeat_batches(const SeeLoss<T>&);          \
  template void Trainer<T>::check_gradients(StepReport&);               \
  template void Trainer<T>::end(const StepReport&, TrainerHooks&);      \
  template bool Trainer<T>::recover(const StepReport&, TrainerHooks&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

// What a trainer does about a step that failed: find where, stop, skip it or go back.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include <xgrad/autograd/element.hpp>
#include <xgrad/autograd/scalar.hpp>
#include <xgrad/optim/clip.hpp>
#include <xgrad/train/checkpoint/failed_step.hpp>
#include <xgrad/train/loop/trace.hpp>
#include <xgrad/train/loop/trainer.hpp>

namespace xgrad {

namespace {

constexpr std::uint64_t kMostSpikes = 10;  // in a row, or since the last save: then it is no spike

// Without the sign that processors give to NaN.
std::string number_text(double x) {
  return std::isnan(x) ? "nan" : fmt::format("{}", x);
}

template <class T>
std::string element_text(const Tensor<T>& x, std::size_t at) {
  return fmt::format("{} of {} is {}", index_text(x.shape(), at), to_string(x.shape()),
                     number_text(double(x.data()[at])));
}

}  // namespace

template <class T>
std::string Trainer<T>::fault_of_parameters() const {
  const Parameter<T>* p = first_not_finite(parameters_);
  if (p == nullptr) return "";
  const Tensor<T>& x = p->variable.value();
  return "parameter " + p->name + element_text(x, *first_not_finite(x));
}

template <class T>
std::string Trainer<T>::fault_of_state() const {
  const auto fault_in = [](const std::vector<OptimizerState<T>>& state) -> std::string {
    for (const OptimizerState<T>& s : state) {
      if (const auto at = first_not_finite(s.tensor)) return s.name + element_text(s.tensor, *at);
    }
    return "";
  };
  const std::string found = fault_in(optimizer_->state());
  return found.empty() && ema_ ? fault_in(ema_->state()) : found;
}

template <class T>
std::string Trainer<T>::fault_of(const StepReport& report) const {
  if (!is_finite_bits(report.loss)) return "the loss is " + number_text(report.loss);
  if (!is_finite_bits(report.grad_norm)) {
    return "the gradient norm is " + number_text(report.grad_norm);
  }
  if (!spikes_.is_spike(report.grad_norm)) return "";
  return fmt::format("the gradient norm is {:.3g}, more than {:g} times its mean, {:.3g}",
                     report.grad_norm, config_.train.spike, spikes_.state().mean);
}

template <class T>
std::string Trainer<T>::locate() {
  std::string found;
  const Trace<T> trace(parameters_, [&](const OpPlace& place, const Tensor<T>& x) {
    if (!found.empty()) return;
    if (const auto at = first_not_finite(x)) found = to_string(place) + element_text(x, *at);
  });
  StepReport again;
  again.step = step_ + 1;
  const bool recompute = std::exchange(config_.train.recompute, false);  // each op runs once
  run_batches(again);
  config_.train.recompute = recompute;
  return found.empty() ? "not found again: a second run of the step is finite, so memory or "
                         "processor may be at fault"
                       : "first not finite: " + found;
}

template <class T>
void Trainer<T>::fail(const StepReport& report, TrainerHooks& hooks) {
  std::string text = fmt::format("step {}: {}; nothing was updated", report.step, report.fault);
  if (!is_finite_bits(report.loss) || !is_finite_bits(report.grad_norm)) {
    text += "\n  " + locate();
  }
  Checkpoint before = capture();
  before.state["epoch"] = std::int64_t(before_.epoch);
  before.state["position"] = std::int64_t(before_.position);
  hooks.on_fault(failed_step(std::move(before), batches_, text));
  throw NumericError(text);
}

template <class T>
bool Trainer<T>::get_over(const StepReport& report, TrainerHooks& hooks) {
  const bool back = config_.train.on_spike == "rollback";
  // No later step heals a weight, or what the optimizer keeps of it.
  if (!back && !(fault_of_parameters() + fault_of_state()).empty()) return false;
  if (config_.train.on_spike == "stop" || ++spikes_in_a_row_ > kMostSpikes) return false;
  if (back) {
    const LoaderState next = loader_.state();
    const std::uint64_t spikes = spikes_in_a_row_;
    restore(*saved_);
    loader_.restore(next);
    spikes_in_a_row_ = spikes;
  } else {
    ++step_;
  }
  hooks.on_spike(report, step_);
  return true;
}

template <class T>
void Trainer<T>::go_back(TrainerHooks& hooks) {
  StepReport report;
  report.step = step_;
  report.fault = "the loss of the validation split is not finite";
  const bool earlier = saved_ && saved_->step < step_;  // where it owed this validation, it is not
  if (!earlier || !get_over(report, hooks)) {
    throw NumericError(fmt::format("step {}: {}", report.step, report.fault));
  }
}

#define XGRAD_INSTANTIATE(T)                                            \
  template std::string Trainer<T>::fault_of_parameters() const;         \
  template std::string Trainer<T>::fault_of_state() const;              \
  template std::string Trainer<T>::fault_of(const StepReport&) const;   \
  template std::string Trainer<T>::locate();                            \
  template void Trainer<T>::fail(const StepReport&, TrainerHooks&);     \
  template bool Trainer<T>::get_over(const StepReport&, TrainerHooks&); \
  template void Trainer<T>::go_back(TrainerHooks&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

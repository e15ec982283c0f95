#include <xgrad/optim/optimizer.hpp>

#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

// Splits "a.b.c" into "a.b" and "c".
std::pair<std::string_view, std::string_view> split_last(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) return {"", path};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

}  // namespace

bool decays(std::string_view name, const Shape& shape) {
  const auto [path, leaf] = split_last(name);
  if (shape.size() < 2 || !(leaf == "weight" || leaf.ends_with("_weight"))) return false;
  // Rows that are looked up by id are no matrices, whatever their rank.
  const std::string_view module = split_last(path).second;
  for (const char* table :
       {"token", "position", "positions", "segment", "embedding", "embeddings"}) {
    if (module == table) return false;
  }
  return !module.starts_with("norm") && !module.ends_with("_norm");
}

template <class T>
Optimizer<T>::Optimizer(const Parameters<T>& parameters, const OptimizerSettings& settings,
                        const std::vector<std::string>& slots)
    : parameters_(&parameters), settings_(settings), slot_count_(slots.size()) {
  check<Error>(slots.size() <= 2, "optimizer: at most 2 slots are supported, not ", slots.size());
  std::vector<std::string> names;
  for (const Parameter<T>& p : parameters) names.push_back(p.name);
  check_groups(settings.groups, names);
  for (const std::string& slot : slots) {
    for (const Parameter<T>& p : parameters) {
      if (!p.variable.requires_grad()) continue;
      state_.push_back({slot + "." + p.name, zeros<T>(p.variable.shape())});
    }
  }
  for (const Parameter<T>& p : parameters) {
    members_.push_back(member(p));
    trainable_ += p.variable.requires_grad();
  }
}

template <class T>
typename Optimizer<T>::Member Optimizer<T>::member(const Parameter<T>& p) const {
  Member member{trainable_, 0.0, 1.0};
  if (decays(p.name, p.variable.shape())) member.weight_decay = settings_.weight_decay;
  if (const ParameterGroup* group = group_of(settings_.groups, p.name)) {
    member.lr = group->lr;
    member.weight_decay = group->weight_decay.value_or(member.weight_decay);
  }
  return member;
}

template <class T>
void Optimizer<T>::set_state(std::string_view name, const Tensor<T>& tensor) {
  const auto found = std::find_if(state_.begin(), state_.end(),
                                  [&](const OptimizerState<T>& s) { return s.name == name; });
  check<Error>(found != state_.end(), "optimizer: there is no state tensor '", name, "'");
  check_shape(tensor.shape() == found->tensor.shape(), "optimizer: state tensor '", name,
              "' has shape ", found->tensor.shape(), ", not ", tensor.shape());
  std::copy_n(tensor.data(), tensor.size(), found->tensor.data());
}

template <class T>
void Optimizer<T>::require_gradients() const {
  std::string missing;
  for (const Parameter<T>& p : *parameters_) {
    if (p.variable.requires_grad() && !p.variable.has_grad()) missing += "\n  " + p.name;
  }
  check<NumericError>(missing.empty(),
                      "optimizer: no gradient has reached these parameters:", missing);
}

template <class T>
ParameterRun<T> Optimizer<T>::whole(std::size_t i) {
  const Variable<T>& variable = (parameters_->begin() + i)->variable;
  ParameterRun<T> run{};
  run.size = variable.value().size();
  run.value = variable.mutable_value().data();
  run.grad = variable.grad().data();
  run.weight_decay = members_[i].weight_decay;
  run.lr = members_[i].lr;
  for (std::size_t slot = 0; slot < slot_count_; ++slot) {
    run.slots[slot] = state_[slot * trainable_ + members_[i].state].tensor.data();
  }
  return run;
}

template <class T>
void Optimizer<T>::step(double lr, double grad_scale) {
  check<Error>(parameters_->size() == members_.size(), "optimizer: made for ", members_.size(),
               " parameters, but there are ", parameters_->size(), " now");
  if (!checked_) require_gradients();
  checked_ = true;

  row_.clear();
  wholes_.clear();
  for (std::size_t i = 0; i < parameters_->size(); ++i) {
    if (!(parameters_->begin() + i)->variable.has_grad()) continue;
    wholes_.push_back(whole(i));
    row_.append(wholes_.back().size);
  }
  prepare(lr, grad_scale, ++steps_);
  parallel_for(row_.size(), detail::Row::kBlock, [this](std::size_t begin, std::size_t end) {
    row_.for_each_run(begin, end, [this](std::size_t i, std::size_t first, std::size_t n) {
      ParameterRun<T> run = wholes_[i];
      run.size = n;
      run.value += first;
      run.grad += first;
      for (std::size_t slot = 0; slot < slot_count_; ++slot) run.slots[slot] += first;
      update(run);
    });
  });
}

#define XGRAD_INSTANTIATE(T) template class Optimizer<T>;
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

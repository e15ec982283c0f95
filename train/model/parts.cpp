#include <xgrad/train/model/parts.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include <xgrad/autograd/check.hpp>
#include <xgrad/optim/optimizers.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/config/keys.hpp>

namespace xgrad {

namespace {

template <class Maker>
const std::pair<std::vector<OptionSpec>, Maker>* find(const std::string& name) {
  const auto found = detail::added<Maker>().find(name);
  return found == detail::added<Maker>().end() ? nullptr : &found->second;
}

const char* name_of(InputKind kind) {
  return kind == InputKind::tokens ? "tokens" : kind == InputKind::image ? "images" : "vectors";
}

void check_reads(const std::string& model, const std::vector<InputKind>& inputs, InputKind task) {
  std::vector<std::string> names;
  for (const InputKind kind : inputs) names.push_back(name_of(kind));
  check<ConfigError>(std::ranges::find(inputs, task) != inputs.end(), "model.kind: ", model,
                     " reads ", joined(names), "; the task's examples are ", name_of(task));
}

}  // namespace

void detail::add_model(const PartEntry& part, ModelMakers makers) {
  add_part("model", part, [](Config& config) -> Options& { return config.model.own; });
  added<ModelMakers>()[part.name] = {part.options, std::move(makers)};
}

void detail::add_optimizer(const PartEntry& part, OptimizerMakers makers) {
  add_part("optim", part, [](Config& config) -> Options& { return config.optim.own; });
  added<OptimizerMakers>()[part.name] = {part.options, std::move(makers)};
}

void add_schedule(const PartEntry& part, ScheduleMaker make) {
  detail::add_part("schedule", part,
                   [](Config& config) -> Options& { return config.schedule.own; });
  detail::added<ScheduleMaker>()[part.name] = {part.options, std::move(make)};
}

template <class T>
std::unique_ptr<SequenceModel<T>> detail::make_own_model(const ModelConfig& config,
                                                         const TaskShape& shape,
                                                         Parameters<T>& parameters) {
  const auto* part = find<ModelMakers>(config.kind);
  if (part == nullptr) return nullptr;
  const auto& [options, makers] = *part;
  check_reads(config.kind, std::get<std::vector<InputKind>>(makers), shape.input);
  return std::get<ModelMaker<T>>(makers)(parameters.root(), config, shape,
                                         complete(options, config.own));
}

template <class T>
std::unique_ptr<Optimizer<T>> make_optimizer(const OptimConfig& config,
                                             const Parameters<T>& parameters,
                                             const ModelPart& part) {
  OptimizerOptions options = config;
  options.part = part;
  const auto* own = find<detail::OptimizerMakers>(config.name);
  if (own == nullptr) return make_optimizer(config.name, parameters, options);
  return std::get<OptimizerMaker<T>>(own->second)(parameters, options,
                                                  complete(own->first, config.own));
}

Schedule make_schedule(const Config& config, std::uint64_t steps) {
  const ScheduleConfig& s = config.schedule;
  if (const auto* part = find<ScheduleMaker>(s.name)) {
    const auto rate = part->second(config, steps, complete(part->first, s.own));
    return Schedule([rate, name = s.name](std::uint64_t step) {
      const double lr = rate(step);
      check<ConfigError>(std::isfinite(lr) && lr >= 0, "schedule.name: ", name, " gives ", lr,
                         " as the learning rate of step ", step, ", must be finite and at least 0");
      return lr;
    });
  }
  return Schedule(Schedule::shape(s.name), config.optim.lr, steps, s.warmup, s);
}

#define XGRAD_INSTANTIATE(T)                                         \
  template std::unique_ptr<SequenceModel<T>> detail::make_own_model( \
      const ModelConfig&, const TaskShape&, Parameters<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)
#undef XGRAD_INSTANTIATE
#define XGRAD_INSTANTIATE(T)                                                                      \
  template std::unique_ptr<Optimizer<T>> make_optimizer(const OptimConfig&, const Parameters<T>&, \
                                                        const ModelPart&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

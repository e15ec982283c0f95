#include <xgrad/train/model/parts.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/scalar.hpp>
#include <xgrad/optim/table.hpp>

namespace xgrad {

namespace {

template <class Makers>
struct Part {
  std::vector<OptionSpec> options;
  Makers makers;
};

// The program's parts by name.
template <class Makers>
std::map<std::string, Part<Makers>>& parts() {
  static std::map<std::string, Part<Makers>> all;
  return all;
}

template <class Makers>
const Part<Makers>* find(const std::string& name) {
  const auto found = parts<Makers>().find(name);
  return found == parts<Makers>().end() ? nullptr : &found->second;
}

template <class T, class Makers>
const auto& maker_of(const Makers& makers) {
  if constexpr (std::is_same_v<T, float>) {
    return makers.single;
  } else if constexpr (std::is_same_v<T, double>) {
    return makers.twice;
  } else {
    return makers.extended;
  }
}

OptimizerOptions options_of(const OptimConfig& config) {
  return {config.beta1,    config.beta2,    config.eps,   config.weight_decay,
          config.momentum, config.nesterov, config.alpha, config.groups};
}

const char* name_of(InputKind kind) {
  return kind == InputKind::tokens ? "tokens" : kind == InputKind::image ? "images" : "vectors";
}

void check_reads(const std::string& model, const std::vector<InputKind>& inputs, InputKind task) {
  std::string names;
  for (const InputKind kind : inputs)
    names += std::string(names.empty() ? "" : ", ") + name_of(kind);
  check<ConfigError>(std::find(inputs.begin(), inputs.end(), task) != inputs.end(),
                     "model.kind: ", model, " reads ", names, "; the task's examples are ",
                     name_of(task));
}

}  // namespace

void detail::add_model(const PartEntry& part, ModelMakers makers) {
  add_part("model", part, [](Config& config) -> Options& { return config.model.own; });
  parts<ModelMakers>()[part.name] = {part.options, std::move(makers)};
}

void detail::add_optimizer(const PartEntry& part, OptimizerMakers makers) {
  add_part("optim", part, [](Config& config) -> Options& { return config.optim.own; });
  parts<OptimizerMakers>()[part.name] = {part.options, std::move(makers)};
}

void add_schedule(const PartEntry& part, ScheduleMaker make) {
  detail::add_part("schedule", part,
                   [](Config& config) -> Options& { return config.schedule.own; });
  parts<ScheduleMaker>()[part.name] = {part.options, std::move(make)};
}

template <class T>
std::unique_ptr<SequenceModel<T>> detail::make_own_model(const ModelConfig& config,
                                                         const TaskShape& shape,
                                                         Parameters<T>& parameters) {
  const auto* part = find<ModelMakers>(config.kind);
  if (part == nullptr) return nullptr;
  check_reads(config.kind, part->makers.inputs, shape.input);
  return maker_of<T>(part->makers)(parameters.root(), config, shape,
                                   complete(part->options, config.own));
}

template <class T>
std::unique_ptr<Optimizer<T>> make_optimizer(const OptimConfig& config,
                                             const Parameters<T>& parameters,
                                             const ModelPart& part) {
  OptimizerOptions options = options_of(config);
  options.part = part;
  const auto* own = find<detail::OptimizerMakers>(config.name);
  if (own == nullptr) return make_optimizer(config.name, parameters, options);
  return maker_of<T>(own->makers)(parameters, options, complete(own->options, config.own));
}

Schedule make_schedule(const Config& config, std::uint64_t steps) {
  const ScheduleConfig& s = config.schedule;
  if (const auto* part = find<ScheduleMaker>(s.name)) {
    const auto rate = part->makers(config, steps, complete(part->options, s.own));
    return Schedule([rate, name = s.name](std::uint64_t step) {
      const double lr = rate(step);
      check<ConfigError>(std::isfinite(lr) && lr >= 0, "schedule.name: ", name, " gives ", lr,
                         " as the learning rate of step ", step, ", must be finite and at least 0");
      return lr;
    });
  }
  return Schedule(Schedule::shape(s.name), config.optim.lr, steps, s.warmup,
                  {s.final, s.power, s.every, s.gamma, s.decay, s.div});
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

// Models, optimizers and schedules that a program adds to xgrad. Configs choose them by name, like
// the built-in ones.
//
// Add them before the first config is read, for example at the start of main(), before
// command_line(). Not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <xgrad/data/task.hpp>
#include <xgrad/layers/model.hpp>
#include <xgrad/optim/optimizers.hpp>
#include <xgrad/optim/schedule.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// Makes a model for a task of this shape. The names of the model's parameters must begin with
/// root.path(). `own` holds the values of the model's own keys.
template <class T>
using ModelMaker = std::function<std::unique_ptr<SequenceModel<T>>(
    const Scope<T>& root, const ModelConfig& config, const TaskShape& shape, const Options& own)>;

/// Makes an optimizer. `options` holds the built-in keys of [optim], `own` the optimizer's own
/// keys.
template <class T>
using OptimizerMaker = std::function<std::unique_ptr<Optimizer<T>>(
    const Parameters<T>& parameters, const OptimizerOptions& options, const Options& own)>;

/// Makes a schedule: a function that returns the learning rate of a step from 0 to steps - 1.
using ScheduleMaker = std::function<std::function<double(std::uint64_t step)>(
    const Config& config, std::uint64_t steps, const Options& own)>;

namespace detail {

/// The makers for each scalar type: float and double to train, long double to check gradients; and
/// the kinds of input that the model can read.
using ModelMakers = std::tuple<ModelMaker<float>, ModelMaker<double>, ModelMaker<long double>,
                               std::vector<InputKind>>;
using OptimizerMakers = std::tuple<OptimizerMaker<float>, OptimizerMaker<double>>;
void add_model(const PartEntry& part, ModelMakers makers);
void add_optimizer(const PartEntry& part, OptimizerMakers makers);

/// Returns a model of a kind that the program added; nullptr if it did not add this kind.
template <class T>
std::unique_ptr<SequenceModel<T>> make_own_model(const ModelConfig& config, const TaskShape& shape,
                                                 Parameters<T>& parameters);

template <class Kind>
constexpr auto make = [](const auto&... arguments) { return std::make_unique<Kind>(arguments...); };

/// The parts of one kind that the program added, by name, each with its own keys and its maker.
template <class Maker>
std::map<std::string, std::pair<std::vector<OptionSpec>, Maker>>& added() {
  static std::map<std::string, std::pair<std::vector<OptionSpec>, Maker>> all;
  return all;
}

}  // namespace detail

/// Adds a kind of model: Model<T> is a SequenceModel<T> whose constructor takes (const Scope<T>&
/// root, const ModelConfig&, const TaskShape&, const Options& own), for T = float, double and long
/// double. `inputs` lists the kinds of input that the model can read: a config with a task of
/// another input kind is refused. Throws ConfigError when the name or a key is taken.
template <template <class> class Model>
void add_model(const PartEntry& part, const std::vector<InputKind>& inputs = {InputKind::tokens}) {
  detail::add_model(part, {detail::make<Model<float>>, detail::make<Model<double>>,
                           detail::make<Model<long double>>, inputs});
}

/// Adds an optimizer: Kind<T> is an Optimizer<T> whose constructor takes (const Parameters<T>&,
/// const OptimizerOptions&, const Options& own), for T = float and double. Throws ConfigError when
/// the name or a key is taken.
template <template <class> class Kind>
void add_optimizer(const PartEntry& part) {
  detail::add_optimizer(part, {detail::make<Kind<float>>, detail::make<Kind<double>>});
}

/// Adds a schedule. Throws ConfigError when the name or a key is taken. A learning rate that is
/// negative or not finite ends the run with a ConfigError that names the step.
void add_schedule(const PartEntry& part, ScheduleMaker make);

/// Makes the optimizer of [optim], built-in or added. `part` becomes OptimizerOptions::part: the
/// elements of the parameters that this optimizer updates; empty: all. Throws ConfigError.
template <class T>
std::unique_ptr<Optimizer<T>> make_optimizer(const OptimConfig& config,
                                             const Parameters<T>& parameters,
                                             const ModelPart& part = {});
/// Makes the schedule of a run of `steps` steps, built-in or added. Throws ConfigError.
Schedule make_schedule(const Config& config, std::uint64_t steps);

}  // namespace xgrad

#include <xgrad/train/inspect/gradcheck.hpp>

#include <algorithm>

#include <xgrad/autograd/memory/counters.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/model/objective.hpp>
#include <xgrad/train/weights/init_from.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kSearched = 64;  // examples among which a second length is looked for
// Operations of the products of all probes, above which the differences are in double: about 15 s
// in long double.
constexpr double kMostOperations = 2e10;

// Gradients of frozen parameters are checked too.
Config unfrozen(Config config) {
  config.optim.groups.clear();
  return config;
}

// The loss of one batch as a function of the parameters.
template <class T>
struct ModelProblem {
  ModelProblem(const Config& config, const TaskShape& shape, const Dataset& train,
               const Batch& batch)
      : parameters(config.train.seed),
        model(make_model<T>(unfrozen(config), shape, parameters)),
        objective(training_objective(config.train, shape, &train)),
        whole(step_size(objective, {batch})) {
    if (!config.model.init_from.empty()) initialize(config, shape, parameters);
    problem.leaves.assign(parameters.begin(), parameters.end());
    problem.f = [this, &config, &batch, steps = planned_steps(config.train, train.size())] {
      const Context context = training_context(config.train, /*step=*/0, steps);
      return training_loss(*model, objective, batch, context, whole).minimised;
    };
  }

  Parameters<T> parameters;
  std::unique_ptr<SequenceModel<T>> model;
  Objective objective;
  StepSize whole;
  GradientProblem<T> problem;
};

std::vector<Example> two_examples(const Dataset& data, const TaskShape& shape) {
  std::vector<Example> examples{data.get(0, 0)};
  for (std::size_t i = 1; i < std::min(kSearched, data.size()); ++i) {
    Example other = data.get(0, i);
    const bool differs = length_of(other, shape) != length_of(examples[0], shape);
    if (i > 1 && !differs) continue;
    examples.resize(1);
    examples.push_back(std::move(other));
    if (differs) break;
  }
  return examples;
}

// Operations of the products of all probes.
double operations(const GradientProblem<double>& problem, const GradcheckOptions& options) {
  const Counters counters;
  const NoGrad no_grad;
  problem.f();
  std::size_t probes = options.directions;
  for (const Parameter<double>& leaf : problem.leaves) {
    probes += std::min(leaf.variable.value().size(), options.entries) + options.directions;
  }
  return double(counters.flops()) * double(probes) * 2 * double(options.levels);
}

}  // namespace

ModelCheck check_model(const Config& config, const std::map<std::string, std::string>& places) {
  const std::unique_ptr<Task> task = make_task(config);
  const TaskShape& shape = task->shape();
  const std::unique_ptr<Dataset> train = task->dataset(Split::train);
  const std::vector<Example> examples = two_examples(*train, shape);
  const Batch batch = collate(examples, shape);
  const ModelProblem<double> model(config, shape, *train, batch);

  ModelCheck check;
  for (const Example& example : examples) check.lengths.push_back(length_of(example, shape));
  for (const auto& leaf : model.problem.leaves) check.shapes.push_back(leaf.variable.shape());
  GradcheckOptions& options = check.options;
  options.levels = 2;
  options.entries = 32;
  options.directions = 1;
  options.small_directions = true;
  options.places = places;
  if (operations(model.problem, options) > kMostOperations) {
    check.arithmetic = "double";
    options.step = 4e-3;
    options.tolerance = 1e-8;
    options.entry_tolerance = 1e-6;
    options.floor = 1e-11;
    check.report = check_gradients(model.problem, model.problem, options);
  } else {
    check.arithmetic = "long double";
    options.step = 1e-3;
    options.tolerance = 1e-11;
    options.entry_tolerance = 1e-9;
    const ModelProblem<long double> reference(config, shape, *train, batch);
    check.report = check_gradients(model.problem, reference.problem, options);
  }
  return check;
}

}  // namespace xgrad

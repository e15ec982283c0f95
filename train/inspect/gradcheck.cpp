#include <xgrad/train/inspect/gradcheck.hpp>

#include <algorithm>

#include <xgrad/train/model/build.hpp>
#include <xgrad/train/model/training_loss.hpp>
#include <xgrad/train/weights/init_from.hpp>

namespace xgrad {

namespace {

// The loss of one batch as a function of the parameters.
template <class T>
struct ModelProblem {
  ModelProblem(const Config& config, const TaskShape& shape, const Batch& batch)
      : parameters(config.train.seed),
        model(make_model<T>(config.model, shape, parameters)),
        objective(make_objective(config.train, shape)),
        whole(together({batch})) {
    if (!config.model.init_from.empty()) initialize(config.model, shape, parameters);
    problem.leaves.assign(parameters.begin(), parameters.end());
    problem.f = [this, &config, &batch] {
      const Context context = Context::train(config.train.seed, /*step=*/0);
      return training_loss(*model, objective, batch, context, whole).minimised;
    };
  }

  Parameters<T> parameters;
  std::unique_ptr<SequenceModel<T>> model;
  Objective objective;
  LogicalBatch whole;
  GradientProblem<T> problem;
};

}  // namespace

GradientReport check_model(const Config& config) {
  const std::unique_ptr<Task> task = make_task(config);
  const std::unique_ptr<Dataset> train = task->dataset(Split::train);
  std::vector<Example> examples;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, train->size()); ++i) {
    examples.push_back(train->get(0, i));
  }
  const Batch batch = collate(examples, task->shape());
  const ModelProblem<double> problem(config, task->shape(), batch);
  const ModelProblem<long double> reference(config, task->shape(), batch);
  GradcheckOptions options;
  options.tolerance = 1e-11;
  options.entry_tolerance = 1e-9;
  return check_gradients(problem.problem, reference.problem, options);
}

}  // namespace xgrad

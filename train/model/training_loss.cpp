#include <xgrad/train/model/training_loss.hpp>

#include <algorithm>

#include <xgrad/autograd/observer.hpp>
#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/attention/metrics.hpp>
#include <xgrad/train/model/build.hpp>

namespace xgrad {

StepSize step_size(const Objective& objective, const std::vector<Batch>& batches) {
  StepSize whole;
  for (const Batch& batch : batches) {
    whole.targets += weight_of_targets(objective, batch);
    whole.examples += double(batch.size);
  }
  return whole;
}

std::uint64_t planned_steps(const TrainConfig& config, std::size_t examples) {
  if (config.steps > 0) return config.steps;
  const std::uint64_t batches = (examples + config.batch - 1) / config.batch * config.epochs;
  return (batches + config.accumulate - 1) / config.accumulate;
}

Context training_context(const TrainConfig& config, std::uint64_t step, std::uint64_t steps) {
  const double done = steps > 1 ? std::min(1.0, double(step) / double(steps - 1)) : 0;
  Context context = Context::train(config.seed, step);
  context.dropout_scale = config.dropout_start + (config.dropout_end - config.dropout_start) * done;
  return context;
}

template <class T>
TrainingLoss<T> training_loss(const SequenceModel<T>& model, const Objective& objective,
                              const Batch& batch, Context context, const StepSize& whole) {
  HeadDiversity<T> heads;
  const bool penalised = objective.head_diversity > 0;
  if (penalised) context.activations = &heads;
  TrainingLoss<T> loss;
  {
    const Region region("model");
    loss.outputs = model(BatchInput<T>(batch).input(), context);
  }
  const Region region("loss");
  loss.task = mean_loss(objective, loss.outputs, batch, whole.targets > 0 ? whole.targets : 1);
  loss.minimised = loss.task;
  if (!penalised) return loss;
  loss.penalty = scale(heads.mean(), T(double(batch.size) / whole.examples));
  loss.minimised = add(loss.task, scale(loss.penalty, T(objective.head_diversity)));
  return loss;
}

template <class T>
static void run(const SequenceModel<T>& model, const Objective& objective, const Batch& batch,
                const Context& context, const StepSize& whole, const SeeLoss<T>& see) {
  const TrainingLoss<T> loss = training_loss(model, objective, batch, context, whole);
  {
    const Region region("backward");
    loss.minimised.backward();
  }
  if (see) see(loss, batch);
}

template <class T>
void forward_backward(const SequenceModel<T>& model, const Objective& objective,
                      const std::vector<Batch>& batches, Context context, const SeeLoss<T>& see,
                      const Shard& shard, OutputKind output) {
  const StepSize whole = step_size(objective, batches);
  std::size_t first_sample = context.first_sample;
  for (const Batch& batch : batches) {
    const Range rows = share(batch.size, shard.index, shard.count);
    context.first_sample = std::uint32_t(first_sample + rows.begin);
    if (shard.count == 1) {
      run(model, objective, batch, context, whole, see);
    } else if (rows.size() > 0) {
      run(model, objective, cut(batch, shard, output), context, whole, see);
    }
    first_sample += batch.size;
  }
}

#define XGRAD_INSTANTIATE(T)                                                                      \
  template TrainingLoss<T> training_loss(const SequenceModel<T>&, const Objective&, const Batch&, \
                                         Context, const StepSize&);                               \
  template void forward_backward(const SequenceModel<T>&, const Objective&,                       \
                                 const std::vector<Batch>&, Context, const SeeLoss<T>&,           \
                                 const Shard&, OutputKind);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

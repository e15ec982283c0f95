#include <xgrad/train/model/training_loss.hpp>

#include <algorithm>

#include <xgrad/autograd/observer.hpp>
#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/attention/head_diversity.hpp>
#include <xgrad/train/model/build.hpp>

namespace xgrad {

LogicalBatch together(const std::vector<Batch>& batches) {
  LogicalBatch whole;
  for (const Batch& batch : batches) {
    whole.targets += double(count_targets(batch));
    whole.examples += double(batch.size);
  }
  return whole;
}

template <class T>
TrainingLoss<T> training_loss(const SequenceModel<T>& model, const Objective& objective,
                              const Batch& batch, Context context, const LogicalBatch& whole) {
  HeadDiversity<T> heads;
  const bool penalised = objective.head_diversity > 0;
  if (penalised) context.attention = &heads;
  TrainingLoss<T> loss;
  {
    const Region region("model");
    loss.outputs = model(BatchInput<T>(batch).input(), context);
  }
  const Region region("loss");
  loss.task = mean_loss(objective, loss.outputs, batch, std::max(1.0, whole.targets));
  loss.minimised = loss.task;
  if (!penalised) return loss;
  loss.penalty = scale(heads.mean(), T(double(batch.size) / whole.examples));
  loss.minimised = add(loss.task, scale(loss.penalty, T(objective.head_diversity)));
  return loss;
}

template <class T>
void forward_backward(const SequenceModel<T>& model, const Objective& objective,
                      const std::vector<Batch>& batches, Context context,
                      const std::function<void(const TrainingLoss<T>&, const Batch&)>& see) {
  const LogicalBatch whole = together(batches);
  for (const Batch& batch : batches) {
    const TrainingLoss<T> loss = training_loss(model, objective, batch, context, whole);
    {
      const Region region("backward");
      loss.minimised.backward();
    }
    if (see) see(loss, batch);
    context.first_sample += std::uint32_t(batch.size);
  }
}

#define XGRAD_INSTANTIATE(T)                                                                      \
  template TrainingLoss<T> training_loss(const SequenceModel<T>&, const Objective&, const Batch&, \
                                         Context, const LogicalBatch&);                           \
  template void forward_backward(                                                                 \
      const SequenceModel<T>&, const Objective&, const std::vector<Batch>&, Context,              \
      const std::function<void(const TrainingLoss<T>&, const Batch&)>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

#include <xgrad/train/model/training_loss.hpp>

#include <algorithm>

#include <xgrad/autograd/observer.hpp>
#include <xgrad/autograd/scalar.hpp>
#include <xgrad/layers/head_diversity.hpp>

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
                              const ModelInput<T>& input, const Batch& batch, Context context,
                              const LogicalBatch& whole) {
  HeadDiversity<T> heads;
  const bool penalised = objective.head_diversity > 0;
  if (penalised) context.attention = &heads;
  TrainingLoss<T> loss;
  {
    const Region region("model");
    loss.outputs = model(input, context);
  }
  const Region region("loss");
  loss.task = mean_loss(objective, loss.outputs, batch, std::max(1.0, whole.targets));
  loss.minimised = loss.task;
  if (!penalised) return loss;
  loss.penalty = scale(heads.mean(), T(double(batch.size) / whole.examples));
  loss.minimised = add(loss.task, scale(loss.penalty, T(objective.head_diversity)));
  return loss;
}

#define XGRAD_INSTANTIATE(T)                                                          \
  template TrainingLoss<T> training_loss(const SequenceModel<T>&, const Objective&,   \
                                         const ModelInput<T>&, const Batch&, Context, \
                                         const LogicalBatch&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

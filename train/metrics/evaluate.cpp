#include <xgrad/train/metrics/evaluate.hpp>

#include <algorithm>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/data/loader.hpp>
#include <xgrad/train/model/build.hpp>

namespace xgrad {

template <class T>
bool for_each_output(const SequenceModel<T>& model, const Pass& pass,
                     const std::function<void(const Tensor<T>&, const Batch&)>& see) {
  const NoGrad no_grad;
  Loader loader(pass.dataset, pass.shape, {.batch = pass.batch});
  const std::size_t end = std::min(pass.batches.end, loader.batches_per_epoch());
  if (pass.batches.begin > 0 && pass.batches.begin < end) {
    loader.restore({.position = pass.batches.begin * pass.batch});
  }
  for (std::size_t i = pass.batches.begin; i < end; ++i) {
    if (pass.break_off && pass.break_off()) return false;
    const Batch batch = loader.next();
    see(model(BatchInput<T>(batch).input(), pass.context).value(), batch);
  }
  return true;
}

template <class T>
Metrics evaluate(const SequenceModel<T>& model, const Pass& pass, const Objective& objective) {
  Metrics metrics;
  for_each_output<T>(model, pass, [&](const Tensor<T>& outputs, const Batch& batch) {
    metrics.add(outputs, batch, objective);
  });
  return metrics;
}

#define XGRAD_INSTANTIATE(T)                                                                 \
  template bool for_each_output(const SequenceModel<T>&, const Pass&,                        \
                                const std::function<void(const Tensor<T>&, const Batch&)>&); \
  template Metrics evaluate(const SequenceModel<T>&, const Pass&, const Objective&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

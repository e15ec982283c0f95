#include <xgrad/train/export/export.hpp>

#include <xgrad/data/loader.hpp>
#include <xgrad/layers/models/models.hpp>
#include <xgrad/storage/archives/npy.hpp>
#include <xgrad/storage/archives/zip.hpp>
#include <xgrad/train/model/build.hpp>

namespace xgrad {

namespace {

template <class T>
void add(ZipArchive& archive, const std::string& name, const Tensor<T>& tensor) {
  archive.members.push_back({name + ".npy", to_npy(tensor)});
}

void add_input(ZipArchive& archive, const Batch& batch) {
  if (batch.features.dimension() == 4) return add(archive, "image", batch.features);
  const bool vectors = batch.features.dimension() == 3;
  if (vectors) add(archive, "vectors", batch.features);
  if (!vectors) add(archive, "ids", batch.ids);
  const Shape& shape = vectors ? batch.features.shape() : batch.ids.shape();
  add(archive, "mask", batch.mask ? *batch.mask : full<std::uint8_t>({shape[0], shape[1]}, 1));
  if (batch.adjacency) add(archive, "adjacency", *batch.adjacency);
}

}  // namespace

template <class T>
std::string reference_npz(const SequenceModel<T>& model, const Parameters<T>& parameters,
                          const Task& task, Objective objective, std::size_t count) {
  const std::unique_ptr<Dataset> dataset = task.dataset(Split::validation);
  const Batch batch = Loader(*dataset, task.shape(), {.batch = count}).next();
  const BatchInput<T> input(batch);
  const Variable<T> logits = model(input.input(), Context{});
  objective.label_smoothing = 0;
  const Variable<T> loss = mean_loss(objective, logits, batch);
  parameters.zero_grad();
  loss.backward();

  ZipArchive archive;
  add_input(archive, batch);
  if (task.shape().output == OutputKind::generated) {
    add(archive, "decoder_ids", shift_right(batch.targets, std::int32_t(task.shape().classes)));
  }
  if (batch.targets.dimension() > 0) {
    add(archive, "targets", batch.targets);
  } else {
    add(archive, "targets", batch.values);
    add(archive, "valid", batch.valid ? *batch.valid : full<std::uint8_t>(batch.values.shape(), 1));
  }
  add(archive, "logits", logits.value());
  add(archive, "loss", loss.value());
  for (const Parameter<T>& p : parameters) add(archive, "gradient." + p.name, p.variable.grad());
  return to_zip(archive);
}

#define XGRAD_INSTANTIATE(T)                                                                     \
  template std::string reference_npz(const SequenceModel<T>&, const Parameters<T>&, const Task&, \
                                     Objective, std::size_t);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

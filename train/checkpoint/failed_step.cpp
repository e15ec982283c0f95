#include <xgrad/train/checkpoint/failed_step.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

// These call `call` with the name and place of each tensor of a batch. Ids are stored as double,
// which is exact.
template <class Function>
void for_each_ids(Batch& batch, const Function& call) {
  call("ids", batch.ids);
  call("targets", batch.targets);
}

template <class Function>
void for_each_values(Batch& batch, const Function& call) {
  call("features", batch.features);
  call("values", batch.values);
}

template <class Function>
void for_each_mask(Batch& batch, const Function& call) {
  call("mask", batch.mask);
  call("valid", batch.valid);
  call("adjacency", batch.adjacency);
}

bool is_given(const Shape& shape) {
  return !shape.empty();
}

std::string name_of(std::size_t number, const char* field) {
  return "batch." + std::to_string(number) + "." + field;
}

void put(const Batch& source, std::size_t number, std::vector<NamedTensor>& tensors) {
  Batch batch = source;
  for_each_ids(batch, [&](const char* field, const Ids& ids) {
    if (is_given(ids.shape())) tensors.push_back({name_of(number, field), cast<double>(ids)});
  });
  for_each_values(batch, [&](const char* field, const Tensor<float>& values) {
    if (is_given(values.shape())) tensors.push_back({name_of(number, field), values});
  });
  for_each_mask(batch, [&](const char* field, const std::shared_ptr<const Mask>& mask) {
    if (mask) tensors.push_back({name_of(number, field), cast<float>(*mask)});
  });
}

template <class T>
const Tensor<T>* find(const Checkpoint& failed, const std::string& name) {
  for (const NamedTensor& t : failed.optimizer) {
    if (t.name != name) continue;
    const auto* tensor = std::get_if<Tensor<T>>(&t.tensor);
    check<CheckpointError>(tensor != nullptr, name, " has the wrong type");
    return tensor;
  }
  return nullptr;
}

// Casts whole numbers to a type, after checking that they are between `least` and `most`.
template <class To, class From>
Tensor<To> whole(const std::string& name, const Tensor<From>& from, double least, double most) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    const double x = double(from.data()[i]);
    const bool good = x >= least && x <= most && x == std::floor(x);  // false for NaN
    check<CheckpointError>(good, name, ": is ", x, ", must be a whole number from ", least, " to ",
                           most);
  }
  return cast<To>(from);
}

Batch get(const Checkpoint& failed, std::size_t number) {
  Batch batch;
  for_each_ids(batch, [&](const char* field, Ids& ids) {
    const std::string name = name_of(number, field);
    using Limits = std::numeric_limits<std::int32_t>;
    if (const auto* found = find<double>(failed, name)) {
      ids = whole<std::int32_t>(name, *found, Limits::min(), Limits::max());
    }
  });
  for_each_values(batch, [&](const char* field, Tensor<float>& values) {
    if (const auto* found = find<float>(failed, name_of(number, field))) values = *found;
  });
  for_each_mask(batch, [&](const char* field, std::shared_ptr<const Mask>& mask) {
    const std::string name = name_of(number, field);
    if (const auto* found = find<float>(failed, name)) {
      mask = std::make_shared<Mask>(whole<std::uint8_t>(name, *found, 0, 1));
    }
  });
  const Shape& read = is_given(batch.ids.shape()) ? batch.ids.shape() : batch.features.shape();
  check<CheckpointError>(!read.empty(), name_of(number, "ids"), " and features are missing");
  batch.size = read[0];
  return batch;
}

}  // namespace

Checkpoint failed_step(Checkpoint before, const std::vector<Batch>& batches,
                       const std::string& fault) {
  before.optimizer.clear();
  for (std::size_t i = 0; i < batches.size(); ++i) put(batches[i], i, before.optimizer);
  before.state["fault"] = fault;
  return before;
}

std::vector<Batch> batches_of(const Checkpoint& failed) {
  std::vector<Batch> batches;
  const auto has = [&](const std::string& prefix) {
    return std::any_of(failed.optimizer.begin(), failed.optimizer.end(),
                       [&](const NamedTensor& t) { return t.name.starts_with(prefix); });
  };
  while (has("batch." + std::to_string(batches.size()) + ".")) {
    batches.push_back(get(failed, batches.size()));
  }
  check<CheckpointError>(!batches.empty(), "the failed step has no batch");
  return batches;
}

std::string failed_step_name(std::uint64_t step) {
  return "fault-" + checkpoint_name(step).substr(5);
}

Checkpoint load_failed_step(const std::string& path) {
  return load_checkpoint(path, CheckpointKind::failed_step);
}

}  // namespace xgrad

// A failed step as a file: its batches as tensors.
#include <cmath>
#include <limits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad {

// Calls `call` with the name and place of each tensor of a batch.
template <class Call>
static void for_each_tensor(Batch& batch, const Call& call) {
  call("ids", batch.ids);
  call("targets", batch.targets);
  call("features", batch.features);
  call("values", batch.values);
  const auto with_mask = [&](const char* field, std::shared_ptr<const Mask>& mask) {
    Mask values = mask ? *mask : Mask();
    call(field, values);
    mask = values.dimension() > 0 ? std::make_shared<Mask>(std::move(values)) : nullptr;
  };
  with_mask("mask", batch.mask);
  with_mask("valid", batch.valid);
  with_mask("adjacency", batch.adjacency);
}

// Casts numbers. Integers must be in the range of their type, and numbers of a mask must be 0 or 1.
template <class T>
static Tensor<T> restored(const std::string& name, const AnyTensor& stored) {
  const auto* from = std::get_if<Tensor<double>>(&stored);
  check<CheckpointError>(from != nullptr, name, " has the wrong type");
  if constexpr (std::is_integral_v<T>) {
    constexpr bool mask = std::is_same_v<T, Mask::value_type>;
    const double least = mask ? 0 : double(std::numeric_limits<T>::min());
    const double most = mask ? 1 : double(std::numeric_limits<T>::max());
    for (const double x : *from) {
      const bool good = x >= least && x <= most && x == std::floor(x);  // false for NaN
      check<CheckpointError>(good, name, ": is ", x, ", must be a whole number from ", least,
                             " to ", most);
    }
  }
  return cast<T>(*from);
}

// Numbers are stored as double, which is exact.
Checkpoint failed_step(Checkpoint before, const std::vector<Batch>& batches,
                       const std::string& fault) {
  before.optimizer.clear();
  for (std::size_t i = 0; i < batches.size(); ++i) {
    Batch batch = batches[i];
    for_each_tensor(batch, [&](const std::string& field, const auto& tensor) {
      if (tensor.dimension() == 0) return;
      before.batches.push_back({std::to_string(i) + "." + field, cast<double>(tensor)});
    });
  }
  before.state["fault"] = fault;
  return before;
}

std::vector<Batch> batches_of(const Checkpoint& failed) {
  std::vector<Batch> batches;
  while (true) {
    Batch batch;
    const std::string number = std::to_string(batches.size()) + ".";
    bool any = false;
    for_each_tensor(batch, [&]<class T>(const char* field, Tensor<T>& tensor) {
      for (const NamedTensor& t : failed.batches) {
        any = any || t.name.starts_with(number);
        if (t.name == number + field) tensor = restored<T>("batch." + t.name, t.tensor);
      }
    });
    if (!any) break;
    const Shape& read = batch.ids.dimension() > 0 ? batch.ids.shape() : batch.features.shape();
    check<CheckpointError>(!read.empty(), "batch.", number, "ids and features are missing");
    batch.size = read[0];
    batches.push_back(std::move(batch));
  }
  check<CheckpointError>(!batches.empty(), "the failed step has no batch");
  return batches;
}

std::string failed_step_name(std::uint64_t step) {
  return "fault-" + checkpoint_name(step).substr(5);
}

}  // namespace xgrad

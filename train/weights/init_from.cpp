#include <xgrad/train/weights/init_from.hpp>

#include <algorithm>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/formats/sha256.hpp>
#include <xgrad/storage/hdf5/foreign_hdf5.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/weights/constructed.hpp>
#include <xgrad/train/weights/foreign.hpp>

namespace xgrad {

namespace {

// A constructed encoder as the file that `xgrad construct` would write of it, without its config.
SavedCheckpoint constructed(const std::string& name, const ModelConfig& config,
                            const TaskShape& shape) {
  SavedCheckpoint weights;
  weights.parameters = constructed_weights(find_constructed_encoder(name), config, shape);
  weights.sha256 = to_hdf5_file(weights).sha256;
  return weights;
}

SavedCheckpoint read_weights(const std::string& path, std::size_t expected) {
  const InputFile file(path);
  const std::string start = file.read(0, std::min<std::uint64_t>(file.size(), 8));
  SavedCheckpoint weights;
  if (start == kHdf5Signature) {
    weights = load_checkpoint(path);
    static_cast<Checkpoint&>(weights) = weights_of(weights);
  } else {
    weights.parameters =
        read_foreign(file, start.starts_with("PK") ? "npz" : "safetensors", expected);
    weights.sha256 = to_hex(sha256(file, file.size()));
  }
  return weights;
}

IdNames names_of(const TaskShape& shape) {
  return {shape.token_names, shape.class_names};
}

// Names of a task that learns its own vocabulary. Other tasks of one name share their names, so
// these need no comparison.
IdNames names_of(const Checkpoint& weights, const std::string& path) {
  if (!weights.state.contains(kLearned)) return {};
  const Config config = parse_config(weights.config, path + ":config", {}, ConfigWriter::xgrad);
  return names_of(make_task(config, &weights)->shape());
}

}  // namespace

template <class T>
Initialization initialize(const Config& config, const TaskShape& shape,
                          const Parameters<T>& parameters) {
  const ModelConfig& model = config.model;
  const std::string path = model.init_from;
  SavedCheckpoint file =
      path.starts_with(kConstructed)
          ? constructed(path.substr(std::string(kConstructed).size()), model, shape)
          : read_weights(path, parameters.count());
  if (model.init_noise > 0) add_noise(file.parameters, model.init_noise, config.train.seed);
  const std::vector<NamedTensor>& weights = file.parameters;
  Initialization found{path, file.sha256, weights.size(), parameters.count()};
  if (model.init_strict) {
    restore_weights(weights, path, parameters);
  } else {
    found.partial =
        restore_fitting(weights, names_of(file, path), path, parameters, names_of(shape));
    found.tensors = found.partial->taken.size();
    found.numbers = found.partial->numbers;
  }

  const auto other = [](const NamedTensor& t) {
    return !std::visit([]<class U>(const Tensor<U>&) { return std::is_same_v<T, U>; }, t.tensor);
  };
  found.converted = std::any_of(weights.begin(), weights.end(), other);
  return found;
}

#define XGRAD_INSTANTIATE(T) \
  template Initialization initialize(const Config&, const TaskShape&, const Parameters<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

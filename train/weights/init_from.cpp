#include <xgrad/train/weights/init_from.hpp>

#include <algorithm>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/formats/foreign_hdf5.hpp>
#include <xgrad/storage/formats/sha256.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/weights/constructed.hpp>
#include <xgrad/train/weights/foreign.hpp>
#include <xgrad/train/weights/state_dict.hpp>

namespace xgrad {

namespace {

// Contents and digest of a file.
struct Weights {
  Checkpoint checkpoint;
  Sha256 sha256;
};

// A constructed encoder as the file that `xgrad construct` would write of it, without its config.
Weights constructed(const std::string& name, const ModelConfig& config, const TaskShape& shape) {
  Weights weights;
  weights.checkpoint.parameters =
      constructed_weights(find_constructed_encoder(name), config, shape);
  weights.sha256 = sha256(to_hdf5(weights.checkpoint));
  return weights;
}

Weights read_weights(const std::string& path, std::size_t expected) {
  const InputFile file(path);
  const std::string start = read_ends(file, kHdf5Signature.size()).start;
  if (start == kHdf5Signature) {
    const std::string bytes = read_checkpoint_file(file);
    const Checkpoint checkpoint = from_hdf5(bytes, path);
    check_listed(path, bytes, checkpoint);
    return {weights_of(checkpoint), sha256(bytes)};
  }
  const std::string format = start.starts_with("PK") ? "npz" : "safetensors";
  const std::string bytes = read_foreign_file(file, format);
  Weights weights{.checkpoint = {}, .sha256 = sha256(bytes)};
  weights.checkpoint.parameters = read_foreign(bytes, path, format, expected);
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
  auto [file, digest] =
      path.starts_with(kConstructed)
          ? constructed(path.substr(std::string(kConstructed).size()), model, shape)
          : read_weights(path, parameters.count());
  if (model.init_noise > 0) add_noise(file.parameters, model.init_noise, config.train.seed);
  const std::vector<NamedTensor>& weights = file.parameters;
  Initialization found{path, to_hex(digest), weights.size(), parameters.count()};
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

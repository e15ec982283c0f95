#include <xgrad/train/weights/init_from.hpp>

#include <algorithm>
#include <map>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/formats/sha256.hpp>
#include <xgrad/storage/hdf5/own_hdf5.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/weights/constructed.hpp>
#include <xgrad/train/weights/foreign.hpp>

namespace xgrad {

// The rows that a parameter takes from a tensor of the file: pairs (row of the file, row of the
// model); no pairs mean the whole tensor. The text of a Match says why the parameter takes nothing;
// it is empty if it takes something.
using Rows = std::vector<std::pair<std::size_t, std::size_t>>;
using Match = std::pair<Rows, std::string>;

static bool differ(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return !a.empty() && !b.empty() && a != b;
}

static Match match_words(const std::vector<std::string>& theirs,
                         const std::vector<std::string>& ours) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < theirs.size(); ++i) places.emplace(theirs[i], i);
  Rows rows;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const auto found = places.find(ours[i]);
    if (found != places.end()) rows.emplace_back(found->second, i);
  }
  return {rows, rows.empty() ? "the model and the file have no words in common" : ""};
}

static Match match(const std::string& name, const Shape& theirs, const Shape& ours,
                   const TaskShape& from, const TaskShape& to) {
  const bool words = differ(from.token_names, to.token_names);
  if (words && name == "embedding.token.weight" && theirs.size() == 2 &&
      theirs[0] == from.token_names.size() && theirs[1] == ours[1]) {
    return match_words(from.token_names, to.token_names);
  }
  const bool classes = name.starts_with("head.") && differ(from.class_names, to.class_names);
  return {{},
          theirs != ours ? "the file has " + to_string(theirs) + ", the model " + to_string(ours)
          : words && name == "embedding.one_hot.weight" ? "the file has other words"
          : classes                                     ? "the file has other classes"
                                                        : ""};
}

static std::string line(const std::string& what, const std::vector<std::string>& names) {
  return what + ": " + std::to_string(names.size()) + (names.empty() ? "" : ": ") + joined(names);
}

// A constructed encoder, as the file that `xgrad construct` would write, but without a config.
static SavedCheckpoint constructed(const std::string& name, const ModelConfig& m,
                                   const TaskShape& shape) {
  SavedCheckpoint weights;
  weights.parameters = constructed_weights(find_constructed_encoder(name), m, shape);
  weights.sha256 = to_hdf5_file(weights).sha256;
  return weights;
}

static SavedCheckpoint read_weights(const std::string& path, std::size_t expected) {
  const InputFile file(path);
  const std::string start = file.read(0, std::min<std::uint64_t>(file.size(), 8));
  SavedCheckpoint weights;
  if (start == kHdf5Signature) {
    weights = load_checkpoint(path);
    static_cast<Checkpoint&>(weights) = weights_of(weights);
  } else {
    const char* format = start.starts_with("PK") ? "npz" : "safetensors";
    weights.parameters = read_foreign(file, format, expected);
    weights.sha256 = to_hex(sha256(file, file.size()));
  }
  return weights;
}

// The shape of a task that learns its vocabulary from data, for the names of its token ids. Other
// tasks have an empty shape, because two tasks of the same name have the same token names.
static TaskShape names_of(const Checkpoint& weights, const std::string& path) {
  if (!weights.state.contains(kLearned)) return {};
  const Config config = parse_config(weights.config, path + ":config", {}, ConfigWriter::xgrad);
  return make_task(config, &weights)->shape();
}

std::vector<std::string> lines_of(const PartialFit& fit) {
  return {line("taken from the file", fit.taken), line("missing in the file", fit.missing),
          line("of another shape or meaning", fit.misfits), line("unused in the file", fit.unused)};
}

template <class T>
PartialFit restore_fitting(const std::vector<NamedTensor>& weights, const TaskShape& theirs,
                           const std::string& origin, const Parameters<T>& parameters,
                           const TaskShape& ours) {
  std::map<std::string, const NamedTensor*> unclaimed;
  for (const NamedTensor& t : weights) unclaimed.emplace(t.name, &t);
  PartialFit fit;
  std::vector<std::pair<const NamedTensor*, Rows>> taken;
  std::string large;
  for (const Parameter<T>& p : parameters) {
    const auto found = unclaimed.extract(p.name);
    if (found.empty()) {
      fit.missing.push_back(p.name);
      continue;
    }
    const NamedTensor& tensor = *found.mapped();
    const Shape& shape = p.value().shape();
    auto [matched, misfit] = match(p.name, shape_of(tensor.tensor), shape, theirs, ours);
    if (!misfit.empty()) {
      fit.misfits.push_back(p.name + " (" + misfit + ")");
      continue;
    }
    const std::size_t rows = matched.size();
    const std::string part =
        " (the rows of " + std::to_string(rows) + " words of " + std::to_string(shape[0]) + ")";
    fit.taken.push_back(p.name + (rows > 0 ? part : ""));
    fit.numbers += rows > 0 ? rows * shape.back() : p.value().size();
    large += too_large<T>(tensor);
    taken.emplace_back(&tensor, std::move(matched));
  }
  for (const auto& [name, tensor] : unclaimed) fit.unused.push_back(name);
  if (taken.empty()) large = "\n  " + joined(lines_of(fit), "\n  ");
  check<CheckpointError>(large.empty(), origin, " does not fit the model:", large);
  for (const auto& [tensor, rows] : taken) {
    Tensor<T>& to = parameters.at(tensor->name).mutable_value();
    const auto copy = [&, &rows = rows](const auto& from) {
      if (rows.empty()) std::copy_n(from.data(), from.size(), to.data());
      const std::size_t width = to.shape().back();
      for (const auto& [row, place] : rows) {
        std::copy_n(from.data() + row * width, width, to.data() + place * width);
      }
    };
    std::visit(copy, tensor->tensor);
  }
  return fit;
}

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
    found.partial = restore_fitting(weights, names_of(file, path), path, parameters, shape);
    found.tensors = found.partial->taken.size();
    found.numbers = found.partial->numbers;
  }

  const auto other = [](const NamedTensor& t) {
    return !std::visit([]<class U>(const Tensor<U>&) { return std::is_same_v<T, U>; }, t.tensor);
  };
  found.converted = std::any_of(weights.begin(), weights.end(), other);
  return found;
}

#define XGRAD_INSTANTIATE(T)                                                                       \
  template PartialFit restore_fitting(const std::vector<NamedTensor>&, const TaskShape&,           \
                                      const std::string&, const Parameters<T>&, const TaskShape&); \
  template Initialization initialize(const Config&, const TaskShape&, const Parameters<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

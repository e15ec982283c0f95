#include <xgrad/train/weights/init_from.hpp>

#include <algorithm>
#include <map>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/formats/sha256.hpp>
#include <xgrad/storage/hdf5/own_hdf5.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/weights/constructed.hpp>
#include <xgrad/train/weights/foreign.hpp>

namespace xgrad {

namespace {

/// The rows of a tensor in the file that a parameter takes its values from.
struct Match {
  /// Pairs (row of the file, row of the model); empty: the whole tensor.
  std::vector<std::pair<std::size_t, std::size_t>> rows = {};
  std::string misfit = {};  ///< why nothing is taken; empty if something is
};

bool differ(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return !a.empty() && !b.empty() && a != b;
}

Match match_words(const std::vector<std::string>& theirs, const std::vector<std::string>& ours) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < theirs.size(); ++i) places.emplace(theirs[i], i);
  Match match;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const auto found = places.find(ours[i]);
    if (found != places.end()) match.rows.emplace_back(found->second, i);
  }
  if (match.rows.empty()) match.misfit = "the model and the file have no words in common";
  return match;
}

Match match(const std::string& name, const Shape& theirs, const Shape& ours, const IdNames& from,
            const IdNames& to) {
  const bool words = name == "embedding.token.weight" && differ(from.tokens, to.tokens);
  if (words && theirs.size() == 2 && theirs[0] == from.tokens.size() && theirs[1] == ours[1]) {
    return match_words(from.tokens, to.tokens);
  }
  if (theirs != ours) {
    return {{}, "the file has " + to_string(theirs) + ", the model " + to_string(ours)};
  }
  if (name == "embedding.one_hot.weight" && differ(from.tokens, to.tokens)) {
    return {{}, "the file has other words"};
  }
  if (name.starts_with("head.") && differ(from.classes, to.classes)) {
    return {{}, "the file has other classes"};
  }
  return {};
}

std::string line(const std::string& what, const std::vector<std::string>& names) {
  return what + ": " + std::to_string(names.size()) + (names.empty() ? "" : ": ") + joined(names);
}

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

// Names of a task that learns its own vocabulary. Other tasks of one name share their names, so
// these need no comparison.
IdNames names_of(const Checkpoint& weights, const std::string& path) {
  if (!weights.state.contains(kLearned)) return {};
  const Config config = parse_config(weights.config, path + ":config", {}, ConfigWriter::xgrad);
  const TaskShape shape = make_task(config, &weights)->shape();
  return {shape.token_names, shape.class_names};
}

}  // namespace

std::vector<std::string> lines_of(const PartialFit& fit) {
  return {line("taken from the file", fit.taken), line("missing in the file", fit.missing),
          line("of another shape or meaning", fit.misfits), line("unused in the file", fit.unused)};
}

template <class T>
PartialFit restore_fitting(const std::vector<NamedTensor>& weights, const IdNames& theirs,
                           const std::string& origin, const Parameters<T>& parameters,
                           const IdNames& ours) {
  std::map<std::string, const NamedTensor*> unclaimed;
  for (const NamedTensor& t : weights) unclaimed.emplace(t.name, &t);
  PartialFit fit;
  std::vector<std::pair<const NamedTensor*, Match>> taken;
  std::string large;
  for (const Parameter<T>& p : parameters) {
    const auto found = unclaimed.extract(p.name);
    if (found.empty()) {
      fit.missing.push_back(p.name);
      continue;
    }
    const NamedTensor& tensor = *found.mapped();
    const Shape& shape = p.value().shape();
    const Match matched = match(p.name, shape_of(tensor.tensor), shape, theirs, ours);
    if (!matched.misfit.empty()) {
      fit.misfits.push_back(p.name + " (" + matched.misfit + ")");
      continue;
    }
    const std::size_t rows = matched.rows.size();
    const std::string part =
        " (the rows of " + std::to_string(rows) + " words of " + std::to_string(shape[0]) + ")";
    fit.taken.push_back(p.name + (rows > 0 ? part : ""));
    fit.numbers += rows > 0 ? rows * shape.back() : p.value().size();
    large += too_large<T>(tensor);
    taken.emplace_back(&tensor, matched);
  }
  for (const auto& [name, tensor] : unclaimed) fit.unused.push_back(name);
  if (taken.empty()) {
    for (const std::string& text : lines_of(fit)) large += "\n  " + text;
  }
  check<CheckpointError>(large.empty(), origin, " does not fit the model:", large);
  for (const auto& [tensor, matched] : taken) {
    Tensor<T>& to = parameters.at(tensor->name).mutable_value();
    const auto copy = [&, &rows = matched.rows](const auto& from) {
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
    found.partial = restore_fitting(weights, names_of(file, path), path, parameters,
                                    {shape.token_names, shape.class_names});
    found.tensors = found.partial->taken.size();
    found.numbers = found.partial->numbers;
  }

  const auto other = [](const NamedTensor& t) {
    return !std::visit([]<class U>(const Tensor<U>&) { return std::is_same_v<T, U>; }, t.tensor);
  };
  found.converted = std::any_of(weights.begin(), weights.end(), other);
  return found;
}

#define XGRAD_INSTANTIATE(T)                                                                     \
  template PartialFit restore_fitting(const std::vector<NamedTensor>&, const IdNames&,           \
                                      const std::string&, const Parameters<T>&, const IdNames&); \
  template Initialization initialize(const Config&, const TaskShape&, const Parameters<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

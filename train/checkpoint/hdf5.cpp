// Writes and reads the sealed HDF5 image of a checkpoint. docs/checkpoint-format.md describes it.
#include <bit>
#include <map>
#include <optional>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/element.hpp>
#include <xgrad/storage/formats/own_hdf5_reader.hpp>
#include <xgrad/storage/formats/own_hdf5_writer.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/checkpoint/layout.hpp>
#include <xgrad/train/checkpoint/seal.hpp>
#include <xgrad/version.hpp>

namespace xgrad {

namespace {

constexpr const char* kStep = "/trainer/step";
constexpr const char* kWriter = "/trainer/writer";
constexpr const char* kConfig = "/trainer/config";
constexpr const char* kParameterNames = "/trainer/parameters";
constexpr const char* kOptimizerNames = "/trainer/optimizer";
constexpr const char* kState = "/trainer/state";
// Bounds the memory of the module, the header and the names of a tensor while they are written.
constexpr std::size_t kTensorBytes = 4096;

/// Paths of objects; true for groups, false for datasets.
using Places = std::map<std::string, bool>;

/// Infinity is allowed, because it can mean "none yet". NaN is not: it never equals itself, so two
/// equal runs would differ.
template <class Exception>
void check_state(const std::string& name, const StateValue& value) {
  const auto* real = std::get_if<double>(&value);
  const bool is_number =
      real == nullptr || is_finite_bits(*real) || (std::bit_cast<std::uint64_t>(*real) << 12) == 0;
  check<Exception>(is_number, "state ", name, " is NaN");
}

void check_text(const std::string& name, const std::string& text) {
  check<CheckpointError>(text.find('\0') == std::string::npos, name, " holds a zero byte");
}

std::vector<std::string> names_of(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> names;
  for (const NamedTensor& t : tensors) names.push_back(t.name);
  return names;
}

std::size_t bytes_of(const std::vector<NamedTensor>& tensors) {
  std::size_t bytes = 0;
  for (const NamedTensor& t : tensors) {
    bytes += std::visit([](const auto& x) { return x.size() * sizeof(x.data()[0]); }, t.tensor);
    bytes += kTensorBytes;
  }
  return bytes;
}

void check_content(const Checkpoint& checkpoint) {
  for (const auto* tensors : {&checkpoint.parameters, &checkpoint.optimizer}) {
    if (kind_of(checkpoint) == CheckpointKind::failed_step) continue;
    for (const NamedTensor& t : *tensors) check_finite<NumericError>(t.name, t.tensor);
  }
  check_text("the config", checkpoint.config);
  for (const auto& [name, value] : checkpoint.state) {
    check_state<NumericError>(name, value);
    if (const auto* text = std::get_if<std::string>(&value)) check_text("state " + name, *text);
  }
}

// Writes the attributes that Keras uses, so other programs find the weights.
void write_modules(Hdf5Writer& file, const Layout& layout) {
  std::vector<std::string> modules;
  for (const LayoutGroup& module : layout) {
    file.group(module.path);
    file.names(module.path, "weight_names", module.members);
    modules.push_back(module.path.substr(1));
  }
  file.names("/", "layer_names", modules);
}

void write_trainer(Hdf5Writer& file, const Checkpoint& checkpoint) {
  file.group("/trainer");
  file.number(kStep, checkpoint.step);
  file.value(kWriter, std::string("xgrad ") + kVersion);
  file.value(kConfig, checkpoint.config);
  file.value(kParameterNames, join_lines(names_of(checkpoint.parameters)));
  file.value(kOptimizerNames, join_lines(names_of(checkpoint.optimizer)));
  file.group(kState);
  for (const auto& [name, value] : checkpoint.state) file.value(state_path(name), value);
}

std::string write_image(const Checkpoint& checkpoint) {
  check_content(checkpoint);
  const Layout modules = parameter_layout(names_of(checkpoint.parameters));
  const Layout slots = optimizer_layout(names_of(checkpoint.optimizer));

  Hdf5Writer file(bytes_of(checkpoint.parameters) + bytes_of(checkpoint.optimizer));
  write_modules(file, modules);
  for (const NamedTensor& t : checkpoint.parameters) file.tensor(parameter_path(t.name), t.tensor);
  file.group("/optimizer");
  for (const LayoutGroup& slot : slots) file.group(slot.path);
  for (const NamedTensor& t : checkpoint.optimizer) file.tensor(optimizer_path(t.name), t.tensor);
  write_trainer(file, checkpoint);
  std::string image = file.take_image();
  // Another version of libhdf5 may write something that our reader does not support. Find out
  // before the run depends on the file.
  read_hdf5(image);
  return image;
}

void expect_groups(Places& places, const Layout& layout) {
  for (const LayoutGroup& group : layout) {
    places[group.path] = true;
    for (const std::string& member : group.members) places[group.path + "/" + member] = false;
  }
}

/// All objects in a file with these tensors, except the state.
Places expected(const std::vector<std::string>& parameters,
                const std::vector<std::string>& optimizer) {
  Places places;
  expect_groups(places, parameter_layout(parameters));
  expect_groups(places, optimizer_layout(optimizer));
  for (const char* group : {"/", "/optimizer", "/trainer", kState}) places[group] = true;
  for (const char* dataset : {kStep, kWriter, kConfig, kParameterNames, kOptimizerNames}) {
    places[dataset] = false;
  }
  return places;
}

/// Returns "epoch" for "/trainer/state/epoch"; nothing for other paths.
std::optional<std::string> state_name(const std::string& path) {
  const std::string prefix = std::string(kState) + "/";
  if (!path.starts_with(prefix)) return std::nullopt;
  return path.substr(prefix.size());
}

void check_objects(const Hdf5Objects& found, const Places& wanted, bool newer_minor) {
  for (const auto& [path, group] : wanted) {
    const auto object = found.find(path);
    check<CheckpointError>(object != found.end(), path, " is missing");
    check<CheckpointError>(object->second.has_value() != group, path, " is not a ",
                           group ? "group" : "dataset");
  }
  for (const auto& [path, dataset] : found) {
    const bool state = state_name(path) && dataset;
    const bool later = newer_minor && path.starts_with("/trainer/");
    check<CheckpointError>(state || later || wanted.contains(path), path,
                           " does not belong in a checkpoint");
  }
}

const OwnHdf5Dataset& dataset_at(const Hdf5Objects& objects, const std::string& path) {
  const auto found = objects.find(path);
  check<CheckpointError>(found != objects.end() && found->second, path, " is missing");
  return *found->second;
}

std::vector<NamedTensor> read_tensors(const Hdf5Objects& objects,
                                      const std::vector<std::string>& names,
                                      std::string (*path_of)(const std::string&),
                                      CheckpointKind kind) {
  std::vector<NamedTensor> tensors;
  for (const std::string& name : names) {
    const std::string path = path_of(name);
    tensors.push_back({name, dataset_at(objects, path).tensor()});
    if (kind == CheckpointKind::failed_step) continue;
    check_finite<CheckpointError>(path, tensors.back().tensor);
  }
  return tensors;
}

std::map<std::string, StateValue> read_state(const Hdf5Objects& objects) {
  std::map<std::string, StateValue> state;
  for (const auto& [path, dataset] : objects) {
    const std::optional<std::string> name = state_name(path);
    if (!name || !dataset) continue;
    state_path(*name);  // throws if the name is invalid
    check_state<CheckpointError>(*name, state[*name] = dataset->value());
  }
  return state;
}

Checkpoint read_image(const Sealed& sealed, CheckpointKind wanted) {
  const Hdf5Objects objects = read_hdf5(sealed.payload);
  const auto parameters = split_lines(dataset_at(objects, kParameterNames).text());
  const auto optimizer = split_lines(dataset_at(objects, kOptimizerNames).text());
  check_objects(objects, expected(parameters, optimizer), sealed.minor > kFormatMinor);

  Checkpoint checkpoint;
  checkpoint.step = dataset_at(objects, kStep).number();
  check<CheckpointError>(checkpoint.step == sealed.step, kStep, " is ", checkpoint.step,
                         ", but the seal says ", sealed.step);
  checkpoint.config = dataset_at(objects, kConfig).text();
  checkpoint.state = read_state(objects);
  const CheckpointKind found = kind_of(checkpoint);
  check<CheckpointError>(
      found == wanted || wanted == CheckpointKind::any,
      found == CheckpointKind::checkpoint
          ? "is a checkpoint, not a step that failed"
          : "holds a step that failed, not a checkpoint; `xgrad replay` runs it");
  checkpoint.parameters = read_tensors(objects, parameters, parameter_path, found);
  checkpoint.optimizer = read_tensors(objects, optimizer, optimizer_path, found);
  return checkpoint;
}

}  // namespace

std::string to_hdf5(const Checkpoint& checkpoint) try {
  std::string file = write_image(checkpoint);
  file += make_seal({.payload = file, .step = checkpoint.step});
  return file;
} catch (const CheckpointError& error) {
  detail::fail<CheckpointError>("checkpoint of step ", checkpoint.step, ": ", error.what());
} catch (const NumericError& error) {
  detail::fail<NumericError>("checkpoint of step ", checkpoint.step, ": ", error.what());
}

// kFixed bounds everything but tensors and text.
std::size_t most_hdf5_bytes(std::size_t bytes, std::size_t tensors, std::size_t text) {
  // Above the 900 bytes of a tensor, with its module and its name, in checkpoints of many models,
  // and the 11,000 bytes of all else. More would refuse disks that have the room.
  constexpr std::size_t kTensor = 1536, kFixed = 1 << 14;
  return bytes + kTensor * tensors + text + kFixed + kSealSize;
}

Checkpoint from_hdf5(std::string_view bytes, const std::string& origin, CheckpointKind kind) try {
  return read_image(open_seal(bytes), kind);
} catch (const CheckpointError& error) {
  detail::fail<CheckpointError>(origin, ": ", error.what());
}

}  // namespace xgrad

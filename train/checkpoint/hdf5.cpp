// Writes and reads the sealed HDF5 image of a checkpoint. docs/checkpoint-format.md describes it.
#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/element.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/storage/hdf5/own_hdf5.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/checkpoint/seal.hpp>
#include <xgrad/version.hpp>

namespace xgrad {

namespace {

constexpr const char* kStep = "/trainer/step";
constexpr const char* kWriter = "/trainer/writer";
constexpr const char* kConfig = "/trainer/config";
constexpr const char* kState = "/trainer/state";
constexpr std::size_t kNameLimit = 1000;
// Bounds the memory of the module, the header and the names of a tensor while they are written.
constexpr std::size_t kTensorBytes = 4096;

using Names = std::vector<std::string>;

/// A list of tensors in a checkpoint: where its names are, and its data, derived from the names.
///
///   parameter "encoder.norm.weight"          /encoder.norm/weight
///   optimizer "exp_avg.encoder.norm.weight"  /optimizer/exp_avg/encoder.norm.weight
///   batches   "0.ids"                        /batches/0/ids
struct List {
  std::vector<NamedTensor> Checkpoint::*tensors;
  const char* names;  ///< dataset with their names, one per line
  const char* above;  ///< the group above their groups
  bool needed;        ///< whether an empty list is stored
};
constexpr List kLists[] = {{&Checkpoint::parameters, "/trainer/parameters", "", true},
                           {&Checkpoint::optimizer, "/trainer/optimizer", "/optimizer", true},
                           {&Checkpoint::batches, "/trainer/batches", "/batches", false}};

void check_name(const std::string& name) {
  const auto prints = [](char c) { return c > ' ' && c <= '~' && c != '/'; };
  const bool parts = !name.empty() && name.front() != '.' && name.back() != '.' &&
                     name.find("..") == std::string::npos;
  check<CheckpointError>(
      parts && name.size() <= kNameLimit && std::all_of(name.begin(), name.end(), prints), "'",
      name, "' is not a valid name for an entry of a checkpoint");
}

/// The group of a tensor and its name in it. A parameter's is its module, the part up to the last
/// dot; others are grouped by the part up to the first one.
std::pair<std::string, std::string> place_of(const List& list, const std::string& name) {
  check_name(name);
  const bool parameter = *list.above == '\0';
  const std::size_t dot = parameter ? name.rfind('.') : name.find('.');
  check<CheckpointError>(dot != std::string::npos, "'", name, "' belongs to no ",
                         parameter ? "module" : "slot: it must be named SLOT.PARAMETER");
  return {std::string(list.above) + "/" + name.substr(0, dot), name.substr(dot + 1)};
}

std::string path_of(const List& list, const std::string& name) {
  const auto [group, member] = place_of(list, name);
  return group + "/" + member;
}

std::string state_path(const std::string& name) {
  check_name(name);
  return std::string(kState) + "/" + name;
}

/// Paths of objects; true for groups, false for datasets.
using Places = std::map<std::string, bool>;

/// Adds the places of a list with these names. Throws CheckpointError if a name is invalid.
void add_places(const List& list, const Names& names, Places& places) {
  if (*list.above != '\0') places[list.above] = true;
  places[list.names] = false;
  for (const std::string& name : names) {
    const auto [group, member] = place_of(list, name);
    check<CheckpointError>(group != "/optimizer" && group != "/trainer" && group != "/batches",
                           "the module '", group.substr(1),
                           "' has a name that is reserved in checkpoints");
    places[group] = true;
    const bool fresh = places.emplace(group + "/" + member, false).second;
    check<CheckpointError>(fresh, "'", name, "' appears twice");
  }
}

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

// Adds the attributes that Keras uses, so other programs find the weights.
void write_modules(Hdf5Writer& file, const Names& parameters) {
  Names modules;
  std::map<std::string, Names> members;
  for (const std::string& name : parameters) {
    const auto [group, member] = place_of(kLists[0], name);
    if (!members.contains(group)) modules.push_back(group.substr(1));
    members[group].push_back(member);
  }
  for (const auto& [group, names] : members) file.names(group, "weight_names", names);
  file.names("/", "layer_names", modules);
}

std::string write_image(const Checkpoint& checkpoint) {
  std::size_t bytes = 0;
  for (const List& list : kLists) {
    for (const NamedTensor& t : checkpoint.*list.tensors) {
      bytes += bytes_of(t.tensor).size() + kTensorBytes;
    }
  }
  Hdf5Writer file(bytes);
  Places places;
  for (const List& list : kLists) {
    Names names;
    for (const NamedTensor& t : checkpoint.*list.tensors) names.push_back(t.name);
    if (names.empty() && !list.needed) continue;
    add_places(list, names, places);
    if (*list.above != '\0') file.group(list.above);
    if (list.tensors == &Checkpoint::parameters) write_modules(file, names);
    for (const auto& [name, tensor] : checkpoint.*list.tensors) {
      const bool any = kind_of(checkpoint) == CheckpointKind::failed_step;
      if (!any) check_finite<NumericError>(name, tensor);
      file.tensor(path_of(list, name), tensor);
    }
    file.value(list.names, names.empty() ? "" : joined(names, "\n") + "\n");
  }
  check_text("the config", checkpoint.config);
  file.number(kStep, checkpoint.step);
  file.value(kWriter, std::string("xgrad ") + kVersion);
  file.value(kConfig, checkpoint.config);
  file.group(kState);
  for (const auto& [name, value] : checkpoint.state) {
    check_state<NumericError>(name, value);
    if (const auto* text = std::get_if<std::string>(&value)) check_text("state " + name, *text);
    file.value(state_path(name), value);
  }
  std::string image = file.take_image();
  // Another version of libhdf5 may write something that our reader does not support. Find out
  // before the run depends on the file.
  read_hdf5(image);
  return image;
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

Names read_names(const Hdf5Objects& objects, const std::string& path) {
  const std::string text = dataset_at(objects, path).text();
  Names names;
  for (std::size_t begin = 0; begin < text.size(); begin += names.back().size() + 1) {
    names.push_back(text.substr(begin, text.find('\n', begin) - begin));
  }
  return names;
}

std::map<std::string, StateValue> read_state(const Hdf5Objects& objects) {
  std::map<std::string, StateValue> state;
  for (const auto& [path, dataset] : objects) {
    const std::optional<std::string> name = state_name(path);
    if (!name || !dataset) continue;
    check_name(*name);
    check_state<CheckpointError>(*name, state[*name] = dataset->value());
  }
  return state;
}

Checkpoint read_image(const Sealed& sealed, CheckpointKind wanted) {
  const Hdf5Objects objects = read_hdf5(sealed.payload);
  Places places{{"/", true}, {"/trainer", true}, {kState, true}};
  for (const char* dataset : {kStep, kWriter, kConfig}) places[dataset] = false;
  for (const List& list : kLists) {
    if (!list.needed && !objects.contains(list.names)) continue;
    add_places(list, read_names(objects, list.names), places);
  }
  check_objects(objects, places, sealed.minor > kFormatMinor);

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
  for (const List& list : kLists) {
    if (!objects.contains(list.names)) continue;
    for (const std::string& name : read_names(objects, list.names)) {
      const std::string path = path_of(list, name);
      AnyTensor tensor = dataset_at(objects, path).tensor();
      if (found == CheckpointKind::checkpoint) check_finite<CheckpointError>(path, tensor);
      (checkpoint.*list.tensors).push_back({name, std::move(tensor)});
    }
  }
  return checkpoint;
}

}  // namespace

DigestedFile to_hdf5_file(const Checkpoint& checkpoint) try {
  DigestedFile file{write_image(checkpoint), {}};
  Sha256Stream digest;
  digest.add(file.bytes);
  const std::string seal =
      make_seal({.payload = file.bytes, .step = checkpoint.step}, digest.value());
  digest.add(seal);
  file.bytes += seal;
  file.sha256 = to_hex(digest.value());
  return file;
} catch (const CheckpointError& error) {
  detail::fail<CheckpointError>("checkpoint of step ", checkpoint.step, ": ", error.what());
} catch (const NumericError& error) {
  detail::fail<NumericError>("checkpoint of step ", checkpoint.step, ": ", error.what());
}

std::string to_hdf5(const Checkpoint& checkpoint) {
  return to_hdf5_file(checkpoint).bytes;
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

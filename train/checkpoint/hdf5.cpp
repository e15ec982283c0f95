// Writes and reads the sealed HDF5 image of a checkpoint. docs/checkpoint-format.md describes it.
#include <algorithm>
#include <cmath>
#include <map>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/formats/little_endian.hpp>
#include <xgrad/storage/hdf5/own_hdf5.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/checkpoint/seal.hpp>
#include <xgrad/version.hpp>

namespace xgrad {

namespace {

constexpr const char* kStep = "/trainer/step";
constexpr const char* kWriter = "/trainer/writer";
constexpr const char* kConfig = "/trainer/config";
constexpr const char* kState = "/trainer/state";
const std::string kStates = "/trainer/state/";  // before the name of an entry
constexpr std::size_t kNameLimit = 1000;
// Upper bound of the memory of a tensor's module, header and names while they are written.
constexpr std::size_t kTensorBytes = 4096;

using Names = std::vector<std::string>;

/// A list of tensors in a checkpoint. The paths of its datasets are derived from the names of the
/// tensors:
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
  const bool good = !name.empty() && name.size() <= kNameLimit && name.front() != '.' &&
                    name.back() != '.' && name.find("..") == std::string::npos &&
                    std::ranges::all_of(name, prints);
  check<CheckpointError>(good, "'", name, "' is not a valid name for an entry of a checkpoint");
}

/// Splits a tensor's full name into group and name: a parameter at its last dot, so that the group
/// is its module, and other tensors at the first dot.
std::pair<std::string, std::string> place_of(const List& list, const std::string& name) {
  check_name(name);
  const bool parameter = list.tensors == &Checkpoint::parameters;
  const std::size_t dot = parameter ? name.rfind('.') : name.find('.');
  check<CheckpointError>(dot != std::string::npos, "'", name, "' belongs to no ",
                         parameter ? "module" : "slot: it must be named SLOT.PARAMETER");
  return {std::string(list.above) + "/" + name.substr(0, dot), name.substr(dot + 1)};
}

std::string path_of(const List& list, const std::string& name) {
  const auto [group, member] = place_of(list, name);
  return group + "/" + member;
}

/// Paths of objects. The value is true for groups, false for datasets.
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
  check<Exception>(real == nullptr || !std::isnan(*real), "state ", name, " is NaN");
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
  const bool finite = kind_of(checkpoint) == CheckpointKind::checkpoint;
  for (const List& list : kLists) {
    Names names;
    for (const NamedTensor& t : checkpoint.*list.tensors) names.push_back(t.name);
    if (names.empty() && !list.needed) continue;
    add_places(list, names, places);
    if (*list.above != '\0') file.group(list.above);
    if (list.tensors == &Checkpoint::parameters) write_modules(file, names);
    for (const auto& [name, tensor] : checkpoint.*list.tensors) {
      if (finite) check_finite<NumericError>(name, tensor);
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
    check_name(name);
    file.value(kStates + name, value);
  }
  std::string image = file.take_image();
  // Another version of libhdf5 may write an image that this reader refuses. Finds this out before
  // the run depends on the image.
  read_hdf5(image);
  return image;
}

void check_objects(const Hdf5Objects& found, const Places& wanted, bool newer_minor) {
  for (const auto& [path, group] : wanted) {
    const auto object = found.find(path);
    check<CheckpointError>(object != found.end(), path, " is missing");
    check<CheckpointError>(object->second.has_value() != group, path, " is not a ",
                           group ? "group" : "dataset");
  }
  for (const auto& [path, dataset] : found) {
    const bool known = wanted.contains(path) || (dataset && path.starts_with(kStates)) ||
                       (newer_minor && path.starts_with("/trainer/"));
    check<CheckpointError>(known, path, " does not belong in a checkpoint");
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
  for (const auto& [path, dataset] : objects) {
    if (!dataset || !path.starts_with(kStates)) continue;
    const std::string name = path.substr(kStates.size());
    check_name(name);
    check_state<CheckpointError>(name, checkpoint.state[name] = dataset->value());
  }
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

constexpr std::string_view kMagic = "XGRADCK1";
constexpr std::size_t kDigest = 32, kDigested = kSealSize - kDigest;  // in a seal

/// Throws an error that says which kind of file this is, since it has no seal.
[[noreturn]] void refuse_unsealed(std::string_view start, std::uint64_t size) {
  check<CheckpointError>(size > 0, "is empty, 0 bytes");
  check<CheckpointError>(
      !start.starts_with(kHdf5Signature),
      "changed since xgrad wrote it, cut short, or not written by xgrad: an HDF5 file "
      "without xgrad's seal at its end (programs that open it for writing cut the seal off)");
  check<CheckpointError>(size >= kSealSize, "too short for a checkpoint: ", size,
                         " bytes, and a seal alone has ", kSealSize);
  detail::fail<CheckpointError>(
      "not a checkpoint of xgrad: neither an HDF5 file nor sealed; `xgrad import` makes one from "
      "a config and the weights of another program");
}

/// Checks the seal by the first and last kSealSize bytes of a file, or by all if it has fewer.
void check_ends(std::string_view start, std::string_view seal, std::uint64_t size) {
  if (size < kSealSize || !seal.starts_with(kMagic)) refuse_unsealed(start, size);
  check<CheckpointError>(seal.substr(kDigested) == sha256(seal.substr(0, kDigested)),
                         "damaged: the seal does not match its own digest");
  const std::uint64_t major = little_endian(seal, 8, 4), minor = little_endian(seal, 12, 4);
  check<NewerFormatError>(major <= kFormatMajor, "needs a newer xgrad: written by format ", major,
                          ".", minor, "; this one reads format ", kFormatMajor, ".x");
  check<CheckpointError>(major == kFormatMajor, "written by format ", major, ".", minor,
                         "; this xgrad reads format ", kFormatMajor, ".x");
  const std::uint64_t sealed = little_endian(seal, 16, 8), payload = size - kSealSize;
  check<CheckpointError>(sealed == payload, "damaged: the seal is for ", sealed,
                         " bytes, but the file has ", payload);
}

void check_payload(std::string_view seal, const Sha256& digest) {
  check<CheckpointError>(seal.substr(32, kDigest) == digest,
                         "damaged: the payload's SHA-256 is not the one in the seal");
}

/// Calls `read` and returns its result. Its errors then start with the origin.
template <class Read>
auto naming(const std::string& origin, const Read& read) try {
  return read();
} catch (const NewerFormatError& error) {
  detail::fail<NewerFormatError>(origin, ": ", error.what());
} catch (const CheckpointError& error) {
  detail::fail<CheckpointError>(origin, ": ", error.what());
} catch (const NumericError& error) {
  detail::fail<NumericError>(origin, ": ", error.what());
}

}  // namespace

std::string make_seal(const Sealed& content, const Sha256& digest) {
  std::string seal = std::string(kMagic) + to_little_endian(content.major, 4) +
                     to_little_endian(content.minor, 4) + to_little_endian(content.payload.size()) +
                     to_little_endian(content.step) + digest;
  seal.resize(kDigested);
  return seal + sha256(seal);
}

/// Like open_seal(), but does not check the payload.
static Sealed parse_seal(std::string_view file) {
  const std::size_t payload = file.size() - std::min(file.size(), kSealSize);
  const std::string_view seal = file.substr(payload);
  check_ends(file.substr(0, kSealSize), seal, file.size());
  return {file.substr(0, payload), std::uint32_t(little_endian(seal, 8, 4)),
          std::uint32_t(little_endian(seal, 12, 4)), little_endian(seal, 24, 8)};
}

Sealed open_seal(std::string_view file) {
  const Sealed sealed = parse_seal(file);
  check_payload(file.substr(sealed.payload.size()), sha256(sealed.payload));
  return sealed;
}

/// Checks a file as open_seal() does, and returns the SHA-256 of all its bytes as text. Holds
/// little of it in memory. If the seal is not valid, reads only both ends. Throws IoError.
static std::string check_sealed(const InputFile& file) {
  const std::size_t size = std::min<std::uint64_t>(file.size(), kSealSize);
  const std::string seal = file.read(file.size() - size, size);
  check_ends(file.read(0, size), seal, file.size());
  Sha256Stream digest;
  digest.add(file, file.size() - kSealSize);
  check_payload(seal, digest.value());
  digest.add(seal);
  return to_hex(digest.value());
}

DigestedFile to_hdf5_file(const Checkpoint& checkpoint) {
  return naming("checkpoint of step " + std::to_string(checkpoint.step), [&] {
    std::string bytes = write_image(checkpoint);
    Sha256Stream digest;
    digest.add(bytes);
    const std::string seal = make_seal({.payload = bytes, .step = checkpoint.step}, digest.value());
    digest.add(seal);
    bytes += seal;
    return DigestedFile{std::move(bytes), to_hex(digest.value())};
  });
}

std::string to_hdf5(const Checkpoint& checkpoint) {
  return to_hdf5_file(checkpoint).bytes;
}

std::size_t most_hdf5_bytes(std::size_t bytes, std::size_t tensors, std::size_t text) {
  // In many models, a tensor with its module and its name takes 900 bytes, and the rest 11,000.
  constexpr std::size_t kTensor = 1536, kFixed = 1 << 14;
  return bytes + kTensor * tensors + text + kFixed + kSealSize;
}

Checkpoint from_hdf5(std::string_view bytes, const std::string& origin, CheckpointKind kind) {
  return naming(origin, [&] { return read_image(open_seal(bytes), kind); });
}

// Hashes the file in blocks before loading it, so the loaded bytes are not hashed again.
SavedCheckpoint read_checkpoint(const InputFile& file, CheckpointKind kind) {
  return naming(file.path(), [&] {
    const std::string sha256 = check_sealed(file);
    const std::string bytes = file.read(0, file.size());
    check<IoError>(!file.has_changed(), file.path(), ": changed while it was read");
    return SavedCheckpoint{read_image(parse_seal(bytes), kind), file.path(), sha256};
  });
}

}  // namespace xgrad

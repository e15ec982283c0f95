#include <xgrad/train/weights/foreign.hpp>

#include <algorithm>
#include <utility>

#include <xgrad/storage/archives/npy.hpp>
#include <xgrad/storage/archives/safetensors.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/disk/isolated.hpp>
#include <xgrad/storage/formats/tensors.hpp>
#include <xgrad/storage/hdf5/foreign_hdf5.hpp>

namespace xgrad {

constexpr std::uint64_t kMostBytes = std::uint64_t(4) << 30;  // maximum size of a file
constexpr std::size_t kMemory = std::size_t(96) << 20;        // memory of the readers themselves

static WeightFile from_foreign_hdf5(std::string_view bytes) {
  WeightFile weights;
  for (const std::string& path : list_hdf5_datasets(bytes)) {
    if (path.starts_with("trainer/") || path.starts_with("optimizer/")) continue;
    std::string name = path;
    std::replace(name.begin(), name.end(), '/', '.');
    weights.tensors.push_back(to_tensor(name, parse_hdf5_dataset(bytes, path)));
  }
  return weights;
}

// Names of formats, and their readers.
constexpr std::pair<const char*, WeightFile (*)(std::string_view bytes)> kFormats[] = {
    {"safetensors", from_safetensors}, {"npz", from_npz}, {"hdf5", from_foreign_hdf5}};

std::string do_foreign_work(const NamedWork& named) {
  if (named.name == kHdf5Work) return do_hdf5_work(named);
  const auto format = std::ranges::find(kFormats, named.name, [](auto& f) { return f.first; });
  check<ConfigError>(format != std::end(kFormats), "there is no import format ", named.name);
  return to_safetensors({format->second(named.bytes).tensors});
}

std::vector<std::string> foreign_formats() {
  std::vector<std::string> names;
  for (const auto& [name, read] : kFormats) names.emplace_back(name);
  return names;
}

// The file is memory-mapped, so the child reads only the start of a file in another format.
std::vector<NamedTensor> read_foreign(const InputFile& file, const std::string& format,
                                      std::size_t expected) try {
  const std::uint64_t size = format == "hdf5" ? hdf5_size(file) : file.size();
  check<FormatError>(size <= kMostBytes, "has ", size, " bytes, must have at most ", kMostBytes);
  const Mapping mapping(file.descriptor(), size, file.path());
  const std::size_t most = kMemory + 4 * (expected * sizeof(double) + size);
  const auto answer = run_isolated({format, mapping.bytes(), file.descriptor()}, do_foreign_work,
                                   {.memory = most, .result = most, .seconds = seconds_for(size)});
  check<FormatError>(answer.done, answer.text);
  check<IoError>(!file.has_changed(), file.path(), ": changed while it was read");
  // The answer comes from a process that a malicious file may control; from_safetensors() checks
  // all its input.
  return from_safetensors(answer.text).tensors;
} catch (const FormatError& error) {
  detail::fail<CheckpointError>(file.path(), ": ", error.what());
}

}  // namespace xgrad

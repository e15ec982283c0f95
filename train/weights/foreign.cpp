#include <xgrad/train/weights/foreign.hpp>

#include <algorithm>

#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/disk/isolated.hpp>
#include <xgrad/storage/formats/foreign_hdf5.hpp>
#include <xgrad/storage/formats/format_error.hpp>
#include <xgrad/storage/formats/npz.hpp>
#include <xgrad/storage/formats/safetensors.hpp>
#include <xgrad/storage/formats/whole_file.hpp>
#include <xgrad/storage/formats/zip_directory.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kMemory = std::size_t(96) << 20;  // memory of the readers themselves
constexpr std::size_t kMostPerByte = 64;                // memory per byte of a header
constexpr std::size_t kMostMessage = std::size_t(1) << 16;

// Names of work: checking the start of a safetensors file, and reading a whole file.
constexpr const char *kStartWork = "safetensors-start", *kWeightsWork = "weights";

/// Adds the path of the file to errors of the readers.
template <class Work>
auto as_checkpoint_error(const std::string& path, const Work& work) try {
  return work();
} catch (const FormatError& error) {
  throw CheckpointError(path + ": " + error.what());
}

WeightFile from_foreign_hdf5(std::string_view bytes) {
  WeightFile weights;
  for (const std::string& path : list_hdf5_datasets(bytes)) {
    if (path.starts_with("trainer/") || path.starts_with("optimizer/")) continue;
    std::string name = path;
    std::replace(name.begin(), name.end(), '/', '.');
    weights.tensors.push_back(to_tensor(name, parse_hdf5_dataset(bytes, path)));
  }
  return weights;
}

std::uint64_t safetensors_size(const InputFile& file) {
  const auto first = std::size_t(std::min<std::uint64_t>(file.size(), 9));
  const std::string start = file.read(0, safetensors_start(file.read(0, first), file.size()));
  const Isolated answer =
      run_isolated({kStartWork, start, {std::to_string(file.size())}}, do_foreign_work,
                   {.memory = kMemory + kMostPerByte * start.size(), .result = kMostMessage});
  check<FormatError>(answer.done, answer.text);
  return file.size();
}

struct Format {
  const char* name;
  Measure* measure;
  WeightFile (*read)(std::string_view bytes);
};
const Format kFormats[] = {{"safetensors", safetensors_size, from_safetensors},
                           {"npz", zip_size, from_npz},
                           {"hdf5", hdf5_size, from_foreign_hdf5}};

const Format& find_format(const std::string& name) {
  for (const Format& format : kFormats) {
    if (format.name == name) return format;
  }
  detail::fail<ConfigError>("there is no import format ", name);
}

}  // namespace

std::string do_foreign_work(const NamedWork& named) {
  if (named.name == kWeightsWork) {
    return to_safetensors({find_format(named.words.at(0)).read(named.bytes).tensors});
  }
  check<Error>(named.name == kStartWork, "there is no work ", named.name);
  check_safetensors(named.bytes, std::stoull(named.words.at(0)));
  return "";
}

std::vector<std::string> foreign_formats() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

std::string read_foreign_file(const InputFile& file, const std::string& format) {
  return as_checkpoint_error(file.path(),
                             [&] { return read_whole(file, find_format(format).measure); });
}

std::vector<NamedTensor> read_foreign(const std::string& bytes, const std::string& path,
                                      const std::string& format, std::size_t expected) {
  find_format(format);  // throws if there is none
  const std::size_t most = kMemory + 4 * (expected * sizeof(double) + bytes.size());
  return as_checkpoint_error(path, [&] {
    const Isolated answer =
        run_isolated({kWeightsWork, bytes, {format}}, do_foreign_work,
                     {.memory = most, .result = most, .seconds = seconds_for(bytes.size())});
    check<FormatError>(answer.done, answer.text);
    // The answer comes from a process that may be compromised; from_safetensors() trusts no input.
    return from_safetensors(answer.text).tensors;
  });
}

}  // namespace xgrad

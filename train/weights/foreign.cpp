#include <xgrad/train/weights/foreign.hpp>

#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/disk/isolated.hpp>
#include <xgrad/storage/formats/foreign_hdf5.hpp>
#include <xgrad/storage/formats/npz.hpp>
#include <xgrad/storage/formats/safetensors.hpp>
#include <xgrad/storage/formats/zip.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kMemory = std::size_t(96) << 20;  // for the readers themselves
constexpr std::size_t kMostPerByte = 64;                // of a header
constexpr std::size_t kMostMessage = std::size_t(1) << 16;

template <class T>
AnyTensor tensor(const Array& array) {
  Tensor<T> result = empty<T>(Shape(array.extents.begin(), array.extents.end()));
  std::copy(array.values.begin(), array.values.end(), result.data());
  return result;
}

WeightFile from_foreign_hdf5(std::string_view bytes, const std::string&) {
  WeightFile weights;
  for (const std::string& path : list_hdf5_datasets(bytes)) {
    if (path.starts_with("trainer/") || path.starts_with("optimizer/")) continue;
    const Array array = parse_hdf5_dataset(bytes, path);
    check<CheckpointError>(!array.text && !array.whole, path,
                           ": its type is neither float32 nor float64");
    std::string name = path;
    std::replace(name.begin(), name.end(), '/', '.');
    NamedTensor named{name, array.single ? tensor<float>(array) : tensor<double>(array)};
    check_finite<CheckpointError>(name, named.tensor);
    weights.tensors.push_back(std::move(named));
  }
  return weights;
}

// Whether a file is of a format, as far as a small part of it tells.
void check_safetensors_file(const InputFile& file) {
  const auto first = std::size_t(std::min<std::uint64_t>(file.size(), 9));
  const std::string start = file.read(0, safetensors_start(file.read(0, first), file.size()));
  const auto check_start = [&] {
    check_safetensors(start, file.size());
    return std::string();
  };
  const Isolated answer = run_isolated(
      check_start, {.memory = kMemory + kMostPerByte * start.size(), .result = kMostMessage});
  check<CheckpointError>(answer.done, answer.text);
}

void check_npz_file(const InputFile& file) {
  const FileEnds ends = read_ends(file, kZipEnd);
  check_zip_ends(ends.start, ends.end);
}

void check_hdf5_file(const InputFile& file) {
  check<CheckpointError>(read_ends(file, kHdf5Signature.size()).start == kHdf5Signature, kNoHdf5);
}

struct Format {
  const char* name;
  void (*check)(const InputFile& file);
  WeightFile (*read)(std::string_view bytes, const std::string& origin);
};
const Format kFormats[] = {{"safetensors", check_safetensors_file, from_safetensors},
                           {"npz", check_npz_file, from_npz},
                           {"hdf5", check_hdf5_file, from_foreign_hdf5}};

const Format& find_format(const std::string& name) {
  for (const Format& format : kFormats) {
    if (format.name == name) return format;
  }
  detail::fail<ConfigError>("there is no format ", name, " to import");
}

}  // namespace

std::vector<std::string> foreign_formats() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

std::string read_foreign_file(const InputFile& file, const std::string& format) {
  const Format& known = find_format(format);
  try {
    known.check(file);
  } catch (const CheckpointError& error) {
    detail::fail<CheckpointError>(file.path(), ": ", error.what());
  }
  return file.read(0, file.size());
}

std::vector<NamedTensor> read_foreign(const std::string& bytes, const std::string& path,
                                      const std::string& format, std::size_t expected) {
  const Format& known = find_format(format);
  const auto read = [&] {
    // Whatever came: its reader trusts nobody.
    return to_safetensors({known.read(bytes, path).tensors});
  };
  const std::size_t most = 4 * (expected * sizeof(double) + bytes.size());
  const Isolated answer = run_isolated(read, {.memory = kMemory + most, .result = kMemory + most});
  const std::string origin = answer.text.starts_with(path) ? "" : path + ": ";
  check<CheckpointError>(answer.done, origin, answer.text);
  return from_safetensors(answer.text, path).tensors;
}

}  // namespace xgrad

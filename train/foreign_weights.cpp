#include <xgrad/train/foreign_weights.hpp>

#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/files/hdf5.hpp>
#include <xgrad/data/isolated.hpp>
#include <xgrad/train/formats/npz.hpp>
#include <xgrad/train/formats/safetensors.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kMemory = std::size_t(96) << 20;  // for the readers themselves

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

struct Format {
  const char* name;
  WeightFile (*read)(std::string_view bytes, const std::string& origin);
};
const Format kFormats[] = {
    {"safetensors", from_safetensors}, {"npz", from_npz}, {"hdf5", from_foreign_hdf5}};

}  // namespace

std::vector<std::string> foreign_formats() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

std::vector<NamedTensor> read_foreign(const std::string& bytes, const std::string& path,
                                      const std::string& format, std::size_t expected) {
  const auto known = std::find_if(std::begin(kFormats), std::end(kFormats),
                                  [&](const Format& f) { return format == f.name; });
  check<ConfigError>(known != std::end(kFormats), "there is no format ", format, " to import");
  const auto read = [&] {
    // Whatever came: its reader trusts nobody.
    return to_safetensors({known->read(bytes, path).tensors});
  };
  const std::size_t most = 4 * (expected * sizeof(double) + bytes.size());
  const Isolated answer = run_isolated(read, {.memory = kMemory + most, .result = kMemory + most});
  const std::string origin = answer.text.starts_with(path) ? "" : path + ": ";
  check<CheckpointError>(answer.done, origin, answer.text);
  return from_safetensors(answer.text, path).tensors;
}

}  // namespace xgrad

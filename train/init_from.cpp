#include <xgrad/train/init_from.hpp>

#include <algorithm>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/train/checkpoint.hpp>
#include <xgrad/train/formats/npz.hpp>
#include <xgrad/train/formats/safetensors.hpp>
#include <xgrad/train/formats/sha256.hpp>
#include <xgrad/train/publish.hpp>
#include <xgrad/train/state_dict.hpp>

namespace xgrad {

namespace {

std::vector<NamedTensor> read_weights(const std::string& bytes, const std::string& path) {
  if (bytes.starts_with("\x89HDF")) return weights_of(from_hdf5(bytes, path)).parameters;
  if (bytes.starts_with("PK")) return from_npz(bytes, path).parameters;
  return from_safetensors(bytes, path).parameters;
}

}  // namespace

template <class T>
Initialization initialize(const std::string& path, const Parameters<T>& parameters) {
  const std::string bytes = read_file(path);
  const std::vector<NamedTensor> weights = read_weights(bytes, path);
  restore_weights(weights, path, parameters);

  const auto other = [](const NamedTensor& t) {
    return !std::visit([]<class U>(const Tensor<U>&) { return std::is_same_v<T, U>; }, t.tensor);
  };
  return {.file = path,
          .sha256 = to_hex(sha256(bytes)),
          .tensors = weights.size(),
          .numbers = parameters.count(),
          .converted = std::any_of(weights.begin(), weights.end(), other)};
}

#define XGRAD_INSTANTIATE(T) \
  template Initialization initialize(const std::string&, const Parameters<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

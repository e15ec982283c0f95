#include <xgrad/train/checkpoint/state_hash.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <xgrad/storage/formats/sha256.hpp>

namespace xgrad {

static void add_tensors(const char* kind, const std::vector<NamedTensor>& tensors,
                        Sha256Stream& hash) {
  for (const auto& [name, tensor] : tensors) {
    const int bits = std::holds_alternative<Tensor<float>>(tensor) ? 32 : 64;
    const std::string shape = fmt::format("{}", fmt::join(shape_of(tensor), "x"));
    hash.add(fmt::format("{} {} float{} {}\n", kind, name, bits, shape));
    hash.add(bytes_of(tensor));
  }
}

std::string state_hash(const Checkpoint& checkpoint) {
  Sha256Stream hash;
  hash.add(fmt::format("step {}\n", checkpoint.step));
  add_tensors("parameter", checkpoint.parameters, hash);
  add_tensors("optimizer", checkpoint.optimizer, hash);
  return to_hex(hash.value());
}

}  // namespace xgrad

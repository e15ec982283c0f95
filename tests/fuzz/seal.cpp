// Checkpoints: the seal, as it comes and with its own digest made to hold.
#include <cstdint>
#include <cstdlib>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/formats/sha256.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/checkpoint/seal.hpp>

namespace {

constexpr std::size_t kOwn = 480;  // bytes of the seal before its own digest

void read(const std::string& bytes) {
  try {
    xgrad::from_hdf5(bytes, "a.h5");
  } catch (const xgrad::CheckpointError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  read(bytes);
  if (size < xgrad::kSealSize) return 0;
  const std::size_t seal = size - xgrad::kSealSize;
  const auto digest = xgrad::sha256(std::string_view(bytes).substr(seal, kOwn));
  bytes.replace(seal + kOwn, digest.size(), reinterpret_cast<const char*>(digest.data()),
                digest.size());
  read(bytes);
  return 0;
}

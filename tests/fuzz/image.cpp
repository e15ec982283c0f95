// The HDF5 image of a checkpoint with valid digests. An image that loads is saved and loaded again.
#include <cstdint>
#include <cstdlib>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/checkpoint/seal.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string image(reinterpret_cast<const char*>(data), size);
  const std::string bytes =
      image + xgrad::make_seal({.payload = image, .step = 1200}, xgrad::sha256(image));
  xgrad::Checkpoint checkpoint;
  try {
    checkpoint = xgrad::from_hdf5(bytes, "a.h5");
  } catch (const xgrad::CheckpointError&) {
    return 0;
  }
  const std::string saved = xgrad::to_hdf5(checkpoint);
  if (xgrad::to_hdf5(xgrad::from_hdf5(saved, "b.h5")) != saved) std::abort();
  return 0;
}

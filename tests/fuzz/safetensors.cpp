// safetensors: refused, or read; what is read is written and read again as the same.
#include <cstdint>
#include <cstdlib>

#include <xgrad/storage/archives/safetensors.hpp>
#include <xgrad/storage/formats/tensors.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  xgrad::WeightFile weights;
  try {
    weights = xgrad::from_safetensors({reinterpret_cast<const char*>(data), size});
  } catch (const xgrad::FormatError&) {
    return 0;
  }
  const std::string written = to_safetensors(weights);
  if (to_safetensors(xgrad::from_safetensors(written)) != written) std::abort();
  return 0;
}

// Configs: refused with a message, or read; what is read is printed and read again as the same.
#include <cstdint>
#include <cstdlib>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/config/config.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const std::string printed = to_toml(xgrad::parse_config(text, "a.toml", {}));
    if (to_toml(xgrad::parse_config(printed, "b.toml", {})) != printed) std::abort();
  } catch (const xgrad::ConfigError&) {
  }
  return 0;
}

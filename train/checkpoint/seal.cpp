#include <xgrad/train/checkpoint/seal.hpp>

#include <algorithm>
#include <cstring>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

constexpr std::string_view kMagic = "XGRADCK1";
constexpr std::string_view kHdf5Signature = "\x89HDF\r\n\x1a\n";
constexpr std::size_t kDigested = kSealSize - sizeof(Sha256);

void put(std::string& seal, std::size_t offset, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) seal[offset + i] = static_cast<char>(value >> (8 * i));
}

std::uint64_t get(std::string_view seal, std::size_t offset, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(seal[offset + i])} << (8 * i);
  }
  return value;
}

void put(std::string& seal, std::size_t offset, const Sha256& digest) {
  std::memcpy(seal.data() + offset, digest.data(), digest.size());
}

bool holds(std::string_view seal, std::size_t offset, const Sha256& digest) {
  return std::memcmp(seal.data() + offset, digest.data(), digest.size()) == 0;
}

/// Throws an error that says what a file without a seal is.
[[noreturn]] void refuse_unsealed(std::string_view start, std::uint64_t size) {
  check<CheckpointError>(size > 0, "is empty, 0 bytes");
  check<CheckpointError>(
      !start.starts_with(kHdf5Signature),
      "changed since xgrad wrote it, cut short, or not written by xgrad: an HDF5 file "
      "without xgrad's seal at its end (programs that open it for writing cut the seal off)");
  check<CheckpointError>(size >= kSealSize, "too short for a checkpoint: ", size,
                         " bytes, and a seal alone has ", kSealSize);
  detail::fail<CheckpointError>("not a checkpoint of xgrad: neither an HDF5 file nor sealed");
}

}  // namespace

std::string make_seal(const Sealed& content) {
  std::string seal(kSealSize, '\0');
  std::memcpy(seal.data(), kMagic.data(), kMagic.size());
  put(seal, 8, content.major, 4);
  put(seal, 12, content.minor, 4);
  put(seal, 16, content.payload.size(), 8);
  put(seal, 24, content.step, 8);
  put(seal, 32, sha256(content.payload));
  put(seal, kDigested, sha256(std::string_view(seal).substr(0, kDigested)));
  return seal;
}

void check_seal(std::string_view start, std::string_view end, std::uint64_t size) {
  if (size < kSealSize || !end.starts_with(kMagic)) refuse_unsealed(start, size);
  check<CheckpointError>(holds(end, kDigested, sha256(end.substr(0, kDigested))),
                         "damaged: the seal does not match its own digest");
  const std::uint64_t major = get(end, 8, 4), payload = size - kSealSize;
  check<NewerFormatError>(major <= kFormatMajor, "needs a newer xgrad: written by format ", major,
                          ".", get(end, 12, 4), "; this one reads format ", kFormatMajor, ".x");
  check<CheckpointError>(major == kFormatMajor, "written by format ", major, ".", get(end, 12, 4),
                         "; this xgrad reads format ", kFormatMajor, ".x");
  check<CheckpointError>(get(end, 16, 8) == payload, "damaged: the seal is for ", get(end, 16, 8),
                         " bytes, but the file has ", payload);
}

void check_payload(std::string_view seal, const Sha256& digest) {
  check<CheckpointError>(holds(seal, 32, digest),
                         "damaged: the payload's SHA-256 is not the one in the seal");
}

Sealed open_seal(std::string_view file) {
  const std::size_t payload = file.size() - std::min(file.size(), kSealSize);
  const std::string_view seal = file.substr(payload);
  check_seal(file.substr(0, kSealSize), seal, file.size());
  const Sealed result{file.substr(0, payload), static_cast<std::uint32_t>(get(seal, 8, 4)),
                      static_cast<std::uint32_t>(get(seal, 12, 4)), get(seal, 24, 8)};
  check_payload(seal, sha256(result.payload));
  return result;
}

}  // namespace xgrad

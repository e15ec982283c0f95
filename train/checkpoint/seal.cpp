#include <xgrad/train/checkpoint/seal.hpp>

#include <algorithm>

#include <xgrad/storage/formats/little_endian.hpp>

namespace xgrad {

namespace {

constexpr std::string_view kMagic = "XGRADCK1";
constexpr std::string_view kHdf5Signature = "\x89HDF\r\n\x1a\n";
constexpr std::size_t kDigest = 32, kDigested = kSealSize - kDigest;

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

/// Checks the seal by the first and last kSealSize bytes of a file of `size` bytes, or the whole
/// file if it is shorter.
void check_ends(std::string_view start, std::string_view seal, std::uint64_t size) {
  if (size < kSealSize || !seal.starts_with(kMagic)) refuse_unsealed(start, size);
  check<CheckpointError>(seal.substr(kDigested) == sha256(seal.substr(0, kDigested)),
                         "damaged: the seal does not match its own digest");
  const std::uint64_t major = little_endian(seal, 8, 4), minor = little_endian(seal, 12, 4);
  check<NewerFormatError>(major <= kFormatMajor, "needs a newer xgrad: written by format ", major,
                          ".", minor, "; this one reads format ", kFormatMajor, ".x");
  check<CheckpointError>(major == kFormatMajor, "written by format ", major, ".", minor,
                         "; this xgrad reads format ", kFormatMajor, ".x");
  const std::uint64_t sealed = little_endian(seal, 16, 8), payload = size - kSealSize;
  check<CheckpointError>(sealed == payload, "damaged: the seal is for ", sealed,
                         " bytes, but the file has ", payload);
}

void check_payload(std::string_view seal, const Sha256& digest) {
  check<CheckpointError>(seal.substr(32, kDigest) == digest,
                         "damaged: the payload's SHA-256 is not the one in the seal");
}

}  // namespace

std::string make_seal(const Sealed& content, const Sha256& digest) {
  std::string seal = std::string(kMagic) + to_little_endian(content.major, 4) +
                     to_little_endian(content.minor, 4) + to_little_endian(content.payload.size()) +
                     to_little_endian(content.step) + digest;
  seal.resize(kDigested);
  return seal + sha256(seal);
}

Sealed open_seal(std::string_view file) {
  const std::size_t payload = file.size() - std::min(file.size(), kSealSize);
  const std::string_view seal = file.substr(payload);
  check_ends(file.substr(0, kSealSize), seal, file.size());
  check_payload(seal, sha256(file.substr(0, payload)));
  return {file.substr(0, payload), std::uint32_t(little_endian(seal, 8, 4)),
          std::uint32_t(little_endian(seal, 12, 4)), little_endian(seal, 24, 8)};
}

std::string check_sealed(const InputFile& file) try {
  const std::size_t size = std::min<std::uint64_t>(file.size(), kSealSize);
  const std::string seal = file.read(file.size() - size, size);
  check_ends(file.read(0, size), seal, file.size());
  Sha256Stream digest;
  digest.add(file, file.size() - kSealSize);
  check_payload(seal, digest.value());
  digest.add(seal);
  return to_hex(digest.value());
} catch (const NewerFormatError& error) {
  detail::fail<NewerFormatError>(file.path(), ": ", error.what());
} catch (const CheckpointError& error) {
  detail::fail<CheckpointError>(file.path(), ": ", error.what());
}

}  // namespace xgrad

// Computes SHA-256 (FIPS 180-4), by OpenSSL.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <xgrad/storage/disk/input_file.hpp>

struct evp_md_ctx_st;  // OpenSSL's

namespace xgrad {

/// The 32 bytes of a digest.
using Sha256 = std::string;

/// Digests bytes that come in parts. Its methods throw Error when the system's OpenSSL offers no
/// SHA-256.
class Sha256Stream {
 public:
  Sha256Stream();
  /// Adds bytes.
  void add(std::string_view bytes);
  /// Adds the first `size` bytes of a file, read a mebibyte at a time. Throws IoError.
  void add(const InputFile& file, std::uint64_t size);
  /// The digest of what was added so far.
  Sha256 value() const;

 private:
  std::shared_ptr<evp_md_ctx_st> state_;
};

/// The SHA-256 of bytes, or of the start of a file. Takes the arguments of Sha256Stream::add().
template <class... What>
Sha256 sha256(const What&... what) {
  Sha256Stream stream;
  stream.add(what...);
  return stream.value();
}

/// The digest as 64 lower-case hexadecimal digits.
std::string to_hex(const Sha256& digest);

}  // namespace xgrad

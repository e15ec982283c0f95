// Computes SHA-256 (FIPS 180-4), by OpenSSL.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <xgrad/storage/disk/input_file.hpp>

namespace xgrad {

using Sha256 = std::array<std::uint8_t, 32>;

/// The SHA-256 of `bytes`. Throws Error when the system's OpenSSL offers no SHA-256.
Sha256 sha256(std::string_view bytes);

/// The SHA-256 of the first `size` bytes of a file, read a mebibyte at a time. Throws IoError, and
/// Error as above.
Sha256 sha256(const InputFile& file, std::uint64_t size);

/// The digest as 64 lower-case hexadecimal digits.
std::string to_hex(const Sha256& digest);

}  // namespace xgrad

#include <xgrad/storage/formats/sha256.hpp>

#include <openssl/evp.h>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

Sha256 sha256(std::string_view bytes) {
  Sha256 digest;
  unsigned length = 0;
  const int ok =
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr);
  check<Error>(ok == 1 && length == digest.size(), "sha256: OpenSSL computed no digest");
  return digest;
}

std::string to_hex(const Sha256& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace xgrad

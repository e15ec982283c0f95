#include <xgrad/storage/formats/sha256.hpp>

#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <vector>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

void check_step(int ok) {
  check<Error>(ok == 1, "sha256: OpenSSL computed no digest");
}

}  // namespace

Sha256 sha256(std::string_view bytes) {
  Sha256 digest;
  check_step(EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr));
  return digest;
}

Sha256 sha256(const InputFile& file, std::uint64_t size) {
  constexpr std::uint64_t kPart = 1 << 20;
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> state(EVP_MD_CTX_new(),
                                                                      EVP_MD_CTX_free);
  check_step(state != nullptr && EVP_DigestInit_ex(state.get(), EVP_sha256(), nullptr));
  std::vector<char> part(std::min(kPart, size));
  for (std::uint64_t at = 0; at < size; at += part.size()) {
    part.resize(std::min(kPart, size - at));
    file.read(at, part.size(), part.data());
    check_step(EVP_DigestUpdate(state.get(), part.data(), part.size()));
  }
  Sha256 digest;
  check_step(EVP_DigestFinal_ex(state.get(), digest.data(), nullptr));
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

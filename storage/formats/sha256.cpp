#include <xgrad/storage/formats/sha256.hpp>

#include <openssl/evp.h>

#include <algorithm>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

void check_step(int ok) {
  check<Error>(ok == 1, "sha256: OpenSSL computed no digest");
}

}  // namespace

Sha256Stream::Sha256Stream() : state_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  check_step(state_ != nullptr && EVP_DigestInit_ex(state_.get(), EVP_sha256(), nullptr));
}

void Sha256Stream::add(std::string_view bytes) {
  check_step(EVP_DigestUpdate(state_.get(), bytes.data(), bytes.size()));
}

void Sha256Stream::add(const InputFile& file, std::uint64_t size) {
  std::string part;
  for (std::uint64_t at = 0; at < size; at += part.size()) {
    part.resize(std::min<std::uint64_t>(1 << 20, size - at));
    file.read(at, part.size(), part.data());
    add(part);
  }
}

Sha256 Sha256Stream::value() const {
  const Sha256Stream copy;  // a computation that was ended cannot continue
  Sha256 digest(32, '\0');
  check_step(EVP_MD_CTX_copy_ex(copy.state_.get(), state_.get()));
  check_step(EVP_DigestFinal_ex(copy.state_.get(), reinterpret_cast<unsigned char*>(digest.data()),
                                nullptr));
  return digest;
}

std::string to_hex(const Sha256& digest) {
  std::string text;
  for (const unsigned char byte : digest) {
    for (const int digit : {byte >> 4, byte & 15}) text += "0123456789abcdef"[digit];
  }
  return text;
}

}  // namespace xgrad

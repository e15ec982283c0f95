#include <xgrad/storage/formats/base64.hpp>

#include <openssl/evp.h>

namespace xgrad {

std::string to_base64(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // one more for the closing zero byte
  text.resize(std::size_t(::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                            reinterpret_cast<const unsigned char*>(bytes.data()),
                                            int(bytes.size()))));
  return text;
}

}  // namespace xgrad

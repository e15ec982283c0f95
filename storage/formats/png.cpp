#include <xgrad/storage/formats/png.hpp>

#include <openssl/evp.h>
#include <png.h>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

std::string to_png(const Picture& picture) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = png_uint_32(picture.width);
  image.height = png_uint_32(picture.height);
  image.format = PNG_FORMAT_RGB;
  std::string bytes;
  png_alloc_size_t size = 0;
  const auto write = [&](void* memory) {
    const int done =
        png_image_write_to_memory(&image, memory, &size, 0, picture.rgb.data(), 0, nullptr);
    check<IoError>(done != 0, "cannot write a picture of ", picture.width, " x ", picture.height,
                   " pixels: ", image.message);
  };
  write(nullptr);  // only computes the size
  bytes.resize(size);
  write(bytes.data());
  bytes.resize(size);
  return bytes;
}

std::string to_base64(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');  // one more for the closing zero byte
  text.resize(std::size_t(::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                            reinterpret_cast<const unsigned char*>(bytes.data()),
                                            int(bytes.size()))));
  return text;
}

}  // namespace xgrad

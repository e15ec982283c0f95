#include <xgrad/layers/patches.hpp>

#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/scalar.hpp>

namespace xgrad {

namespace {

void check_patch(std::size_t patch, std::size_t height, std::size_t width) {
  check_shape(patch > 0 && height % patch == 0 && width % patch == 0, "patchify: patch (", patch,
              ") does not divide the image's ", height, " x ", width, " pixels");
}

// Calls copy(offset in the images, offset in the patches, count) for each pixel row of each patch.
template <class Copy>
void for_each_patch_row(std::size_t images, std::size_t height, std::size_t width,
                        std::size_t channels, std::size_t patch, const Copy& copy) {
  const std::size_t count = patch * channels;
  std::size_t in_patches = 0;
  for (std::size_t b = 0; b < images; ++b) {
    for (std::size_t top = 0; top < height; top += patch) {
      for (std::size_t left = 0; left < width; left += patch) {
        for (std::size_t row = top; row < top + patch; ++row, in_patches += count) {
          copy(((b * height + row) * width + left) * channels, in_patches, count);
        }
      }
    }
  }
}

}  // namespace

template <class T>
Tensor<T> patchify(const Tensor<T>& x, std::size_t patch) {
  check_shape(x.dimension() == 4, "patchify: expected (B, H, W, C), got ", x.shape());
  const auto& s = x.shape();
  check_patch(patch, s[1], s[2]);
  Tensor<T> y = empty<T>({s[0], (s[1] / patch) * (s[2] / patch), patch * patch * s[3]});
  for_each_patch_row(s[0], s[1], s[2], s[3], patch,
                     [&](std::size_t from, std::size_t to, std::size_t n) {
                       std::copy_n(x.data() + from, n, y.data() + to);
                     });
  return y;
}

template <class T>
Tensor<T> unpatchify(const Tensor<T>& x, std::size_t patch, std::size_t height, std::size_t width) {
  check_patch(patch, height, width);
  check_shape(x.dimension() == 3 && x.shape()[1] == (height / patch) * (width / patch) &&
                  x.shape()[2] % (patch * patch) == 0,
              "unpatchify: expected the patches of ", height, " x ", width, " pixels, got ",
              x.shape());
  const std::size_t channels = x.shape()[2] / (patch * patch);
  Tensor<T> y = empty<T>({x.shape()[0], height, width, channels});
  for_each_patch_row(x.shape()[0], height, width, channels, patch,
                     [&](std::size_t to, std::size_t from, std::size_t n) {
                       std::copy_n(x.data() + from, n, y.data() + to);
                     });
  return y;
}

#define XGRAD_INSTANTIATE(T)                                  \
  template Tensor<T> patchify(const Tensor<T>&, std::size_t); \
  template Tensor<T> unpatchify(const Tensor<T>&, std::size_t, std::size_t, std::size_t);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

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

}  // namespace

template <class T>
Tensor<T> patchify(const Tensor<T>& x, std::size_t patch, std::size_t overlap) {
  check_shape(x.dimension() == 4, "patchify: expected (B, H, W, C), got ", x.shape());
  const std::size_t height = x.shape()[1], width = x.shape()[2], channels = x.shape()[3];
  check_patch(patch, height, width);
  const std::size_t side = patch + 2 * overlap;
  Tensor<T> y =
      empty<T>({x.shape()[0], (height / patch) * (width / patch), side * side * channels});
  T* to = y.data();
  for (std::size_t b = 0; b < x.shape()[0]; ++b) {
    for (std::size_t top = 0; top < height; top += patch) {
      for (std::size_t left = 0; left < width; left += patch) {
        // Rows and columns count from `overlap` pixels outside the image.
        const std::size_t begin = std::max(left, overlap);
        const std::size_t end = std::min(left + side, width + overlap);
        for (std::size_t row = top; row < top + side; ++row, to += side * channels) {
          if (row < overlap || row >= height + overlap) {
            std::fill_n(to, side * channels, T(0));
            continue;
          }
          const T* from =
              x.data() + ((b * height + row - overlap) * width + begin - overlap) * channels;
          T* inside = std::fill_n(to, (begin - left) * channels, T(0));
          inside = std::copy_n(from, (end - begin) * channels, inside);
          std::fill(inside, to + side * channels, T(0));
        }
      }
    }
  }
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
  const T* from = x.data();
  for (std::size_t b = 0; b < x.shape()[0]; ++b) {
    for (std::size_t top = 0; top < height; top += patch) {
      for (std::size_t left = 0; left < width; left += patch) {
        for (std::size_t row = top; row < top + patch; ++row, from += patch * channels) {
          std::copy_n(from, patch * channels,
                      y.data() + ((b * height + row) * width + left) * channels);
        }
      }
    }
  }
  return y;
}

#define XGRAD_INSTANTIATE(T)                                               \
  template Tensor<T> patchify(const Tensor<T>&, std::size_t, std::size_t); \
  template Tensor<T> unpatchify(const Tensor<T>&, std::size_t, std::size_t, std::size_t);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

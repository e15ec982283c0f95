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

// Calls visit(image, row, left) for each pixel row of each patch. Rows and columns count from
// `overlap` pixels outside the image.
template <class Visit>
void for_each_patch_row(std::size_t images, std::size_t height, std::size_t width,
                        std::size_t patch, std::size_t overlap, const Visit& visit) {
  for (std::size_t b = 0; b < images; ++b) {
    for (std::size_t top = 0; top < height; top += patch) {
      for (std::size_t left = 0; left < width; left += patch) {
        for (std::size_t row = top; row < top + patch + 2 * overlap; ++row) visit(b, row, left);
      }
    }
  }
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
  const auto copy = [&](std::size_t b, std::size_t row, std::size_t left) {
    T* const end = to + side * channels;
    if (row >= overlap && row < height + overlap) {
      const std::size_t first = std::max(left, overlap);
      const std::size_t last = std::min(left + side, width + overlap);
      const std::size_t from = (b * height + row - overlap) * width + first - overlap;
      to = std::fill_n(to, (first - left) * channels, T(0));
      to = std::copy_n(x.data() + from * channels, (last - first) * channels, to);
    }
    std::fill(to, end, T(0));
    to = end;
  };
  for_each_patch_row(x.shape()[0], height, width, patch, overlap, copy);
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
  const auto copy = [&](std::size_t b, std::size_t row, std::size_t left) {
    std::copy_n(from, patch * channels, y.data() + ((b * height + row) * width + left) * channels);
    from += patch * channels;
  };
  for_each_patch_row(x.shape()[0], height, width, patch, /*overlap=*/0, copy);
  return y;
}

#define XGRAD_INSTANTIATE(T)                                               \
  template Tensor<T> patchify(const Tensor<T>&, std::size_t, std::size_t); \
  template Tensor<T> unpatchify(const Tensor<T>&, std::size_t, std::size_t, std::size_t);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

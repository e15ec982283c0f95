// Patches: images to sequences of patches and back.
#pragma once

#include <xgrad/autograd/tensor.hpp>

namespace xgrad {

/// Cuts images into patches of P x P pixels: x (B, H, W, C) -> (B, (H/P)(W/P), P P C). Patches are
/// in row-major order, and so are the pixels of a patch. With `overlap` = O, a patch has O
/// pixels more on each side, zeros beyond the image: S = P + 2 O, (B, (H/P)(W/P), S S C). These are
/// the inputs of a convolution with kernel S, stride P and padding O. Throws ShapeError when P does
/// not divide H and W.
template <class T>
Tensor<T> patchify(const Tensor<T>& x, std::size_t patch, std::size_t overlap = 0);

/// The inverse of patchify() without overlap: assembles patches to images of `height` x `width`
/// pixels, (B, H, W, C).
template <class T>
Tensor<T> unpatchify(const Tensor<T>& x, std::size_t patch, std::size_t height, std::size_t width);

}  // namespace xgrad

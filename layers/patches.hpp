// Patches: an image as a row of tokens.
#pragma once

#include <xgrad/autograd/tensor.hpp>

namespace xgrad {

/// x (B, H, W, C) -> (B, (H/P)(W/P), P P C): patches in row-major order, each with its pixels in
/// row-major order (S0.3). Throws ShapeError when P does not divide H and W.
template <class T>
Tensor<T> patchify(const Tensor<T>& x, std::size_t patch);

/// The inverse: patches of an image of `height` x `width` pixels back to (B, H, W, C).
template <class T>
Tensor<T> unpatchify(const Tensor<T>& x, std::size_t patch, std::size_t height, std::size_t width);

}  // namespace xgrad

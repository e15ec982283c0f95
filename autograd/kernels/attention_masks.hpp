// Checks the shapes of attention masks. Internal.
#pragma once

#include <memory>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/ops.hpp>

namespace xgrad::detail {

/// Throws ShapeError, with a message that starts with `op`, unless the masks have the shapes that
/// AttentionMasks documents.
inline void check_masks(const char* op, const AttentionOptions& options, std::size_t batch,
                        std::size_t queries, std::size_t keys) {
  const auto check = [op](const char* name, const std::shared_ptr<const Mask>& mask,
                          const Shape& expected) {
    check_shape(!mask || mask->shape() == expected, op, ": ", name, ": expected ", expected,
                ", got ", mask ? mask->shape() : Shape{});
  };
  check("key_mask", options.masks.key_mask, {batch, keys});
  check("mask", options.masks.mask, {batch, queries, keys});
}

}  // namespace xgrad::detail

// Attention maps as pictures.
#pragma once

#include <xgrad/train/formats/png.hpp>
#include <xgrad/train/microscope.hpp>

namespace xgrad {

/// Tokens of the longest input whose maps are drawn.
inline constexpr std::size_t kMostMapped = 128;

/// One head's map of the first sample: a row of pixels for each token that looks, a column for each
/// that is looked at; from white to dark blue, as dark as the square root of a part of the largest
/// weight, so that small ones are seen too.
Picture head_picture(const AttentionMap& map, std::size_t head);

/// Those of all heads from left to right, enlarged to about 128 pixels, with grey between them.
Picture heads_picture(const AttentionMap& map);

}  // namespace xgrad

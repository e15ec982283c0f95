// Attention maps as pictures.
#pragma once

#include <xgrad/data/task.hpp>
#include <xgrad/storage/formats/png.hpp>
#include <xgrad/train/inspect/microscope.hpp>

namespace xgrad {

/// Tokens of the longest input whose maps are drawn.
inline constexpr std::size_t kMostMapped = 128;

/// The tokens that attention sees of an example: ids, vectors, or an image's patches of this side;
/// or the outputs to generate, where these are more. A class token is not counted.
std::size_t attended_tokens(const Example& example, const TaskShape& shape, std::size_t patch);

/// One head's map of the first sample: a row of pixels for each token that looks, a column for each
/// that is looked at; from white to dark blue, as dark as the square root of a part of the largest
/// weight, so that small ones are seen too.
Picture head_picture(const AttentionMap& map, std::size_t head);

/// Those of all heads from left to right, enlarged to about 128 pixels, with grey between them.
Picture heads_picture(const AttentionMap& map);

}  // namespace xgrad

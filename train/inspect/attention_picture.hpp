// Draws attention maps as pictures.
#pragma once

#include <xgrad/data/task.hpp>
#include <xgrad/storage/formats/png.hpp>
#include <xgrad/train/inspect/attention_study.hpp>

namespace xgrad {

/// Maximum number of tokens of an input whose maps are drawn.
inline constexpr std::size_t kMostMapped = 128;

/// Number of tokens in the attention maps of an example: its ids, vectors, or image patches with
/// side `patch`; or its outputs to generate, if there are more. Does not count a class token.
std::size_t attended_tokens(const Example& example, const TaskShape& shape, std::size_t patch);

/// Draws the map of one head for the first sample: one row of pixels per query, one column per key.
/// White is 0 and dark blue the largest weight. The shade follows the square root, so small weights
/// are visible too.
Picture head_picture(const AttentionMap& map, std::size_t head);

/// Draws the maps of all heads from left to right, separated by grey and enlarged to about 128
/// pixels each.
Picture heads_picture(const AttentionMap& map);

}  // namespace xgrad

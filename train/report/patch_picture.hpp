// Draws activation patching as a heat map.
#pragma once

#include <string>
#include <vector>

#include <xgrad/train/inspect/patching.hpp>

namespace xgrad::html {

/// Returns an SVG file: a row for each activation, a column for each position, named by `tokens`.
/// White is 0, dark blue 1 or more, and dark orange -1 or less.
std::string patch_picture(const Patching& patching, const std::vector<std::string>& tokens);

}  // namespace xgrad::html

// The page that explains a model: its weights, and its forward pass in JavaScript.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad {

/// A page, and the checkpoints that it shows.
struct Explanation {
  std::string html;                     ///< the page
  std::vector<std::uint64_t> steps;     ///< steps of the checkpoints that it shows
  std::vector<std::uint64_t> left_out;  ///< steps of other checkpoints, damaged ones included
};

/// Returns one HTML file that needs no network. JavaScript in the page computes the model in double
/// precision. The page holds the weights of one or several checkpoints of a run in float32; if
/// training averaged the weights, it holds the averages. It also holds the vocabulary, the
/// validation curve and, unless the data files are missing, the first examples of the test split.
/// Its size is at most 200 kB plus 5.6 bytes for each weight of each checkpoint.
///
/// Shows the checkpoint of the run that `take` chooses and each `every`-th checkpoint before it.
/// With `every` = 0, shows as many checkpoints as fit in 8 MB, evenly spread, but at least one.
/// Throws ConfigError if the weights need more than 40 MB, or if the model has unsupported settings
/// (see known_to_onnx()); the message lists these settings. Throws IoError and CheckpointError.
Explanation explain_html(const std::string& run, std::size_t every = 0, Take take = Take::model);

/// Parts of the page, from the files of this folder.
namespace page {
extern const char* const kBody;    ///< page.html
extern const char* const kStyle;   ///< page.css
extern const char* const kModel;   ///< model.js
extern const char* const kText;    ///< text.js
extern const char* const kScript;  ///< page.js
}  // namespace page

}  // namespace xgrad

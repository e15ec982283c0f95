// The page that explains a model: its weights, and its forward pass in JavaScript.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad {

/// A page and what it holds.
struct Explanation {
  std::string html;                     ///< the page
  std::vector<std::uint64_t> steps;     ///< steps of the checkpoints that it shows
  std::vector<std::uint64_t> left_out;  ///< steps of the others, among them damaged ones
};

/// Returns one HTML file that needs no network. The model computes in it, in doubles, from the
/// float32 weights of a checkpoint, or of several checkpoints of a run; these are averaged weights
/// if training averaged them. The page also holds the vocabulary, the curve of the validation
/// split, and the first examples of the test split, unless its files are missing. It has at most
/// 200 kB, plus 5.6 bytes for each weight of each checkpoint.
///
/// Shows the checkpoint of the run that `take` chooses and each `every`-th before it. With 0 it
/// shows as many as fit in 8 MB, evenly spread, but at least that one. Throws ConfigError, which
/// lists the unsupported settings (the same as for to_onnx()), or if the weights would exceed 40
/// MB; IoError, CheckpointError.
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

// Formats of predictions as `xgrad predict` prints them.
#pragma once

#include <string>

#include <xgrad/train/predict/predictor.hpp>

namespace xgrad {

/// Returns the labels (for yes-or-no targets those that are yes) or the numbers with six digits,
/// separated by spaces.
std::string prediction_text(const Prediction& prediction);

/// Returns the labels, a tab and their probabilities, each separated by spaces; or the numbers. For
/// a generated output, another tab and its log-probability follow. In labels, backslash, tab, line
/// feed and carriage return become `\\`, `\t`, `\n` and `\r`.
std::string prediction_tsv(const Prediction& prediction);

/// Returns {"labels": [...], "probabilities": [...]} or {"numbers": [...]}. A generated output also
/// has its "log_probability", and after a beam search "beam": a list of {"labels": [...],
/// "log_probability": ...}, best first. Numbers read back exactly.
std::string prediction_json(const Prediction& prediction);

/// Returns the logits of all positions, separated by spaces, with enough digits to read back
/// exactly.
std::string logits_text(const Prediction& prediction);

/// Returns {"error": "MESSAGE"}, for an input that cannot be read.
std::string error_json(const std::string& message);

}  // namespace xgrad

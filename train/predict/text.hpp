// Predictions as `xgrad predict` writes them.
#pragma once

#include <string>

#include <xgrad/train/predict/predictor.hpp>

namespace xgrad {

/// The labels, of yes-or-no answers those that hold, or the numbers to six digits; separated by
/// spaces.
std::string prediction_text(const Prediction& prediction);

/// The labels, a tab, their probabilities, each separated by spaces; or the numbers. A backslash
/// and a tab, a line feed and a carriage return in a label become `\\`, `\t`, `\n` and `\r`.
std::string prediction_tsv(const Prediction& prediction);

/// {"labels": [...], "probabilities": [...]}, or {"numbers": [...]}; numbers read back exactly.
std::string prediction_json(const Prediction& prediction);

/// The logits of all positions, separated by spaces, with as many digits as give each back exactly.
std::string logits_text(const Prediction& prediction);

}  // namespace xgrad

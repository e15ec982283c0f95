#include <xgrad/train/predict/text.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <type_traits>

#include <xgrad/data/excerpt.hpp>

namespace xgrad {

namespace {

std::string escaped(const std::string& label) {
  std::string text;
  for (const char c : label) {
    const std::size_t at = std::string_view("\\\t\n\r").find(c);
    if (at == std::string_view::npos) {
      text += c;
    } else {
      text += {'\\', "\\tnr"[at]};
    }
  }
  return text;
}

}  // namespace

std::string prediction_text(const Prediction& prediction) {
  if (!prediction.numbers.empty()) return fmt::format("{:.6g}", fmt::join(prediction.numbers, " "));
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < prediction.labels.size(); ++i) {
    if (!prediction.multi_label || prediction.probabilities[i] > 0.5) {
      labels.push_back(prediction.labels[i]);
    }
  }
  return joined(labels, " ");
}

std::string prediction_tsv(const Prediction& prediction) {
  if (!prediction.numbers.empty()) return fmt::format("{}", fmt::join(prediction.numbers, " "));
  std::vector<std::string> labels;
  for (const std::string& label : prediction.labels) labels.push_back(escaped(label));
  std::string text =
      fmt::format("{}\t{:.6f}", fmt::join(labels, " "), fmt::join(prediction.probabilities, " "));
  if (prediction.log_probability) text += fmt::format("\t{:.6f}", *prediction.log_probability);
  return text;
}

std::string prediction_json(const Prediction& prediction) {
  nlohmann::ordered_json row;
  if (!prediction.numbers.empty()) {
    row["numbers"] = prediction.numbers;
  } else {
    row["labels"] = prediction.labels;
    row["probabilities"] = prediction.probabilities;
  }
  if (prediction.log_probability) row["log_probability"] = *prediction.log_probability;
  for (const BeamOutput& output : prediction.beam) {
    row["beam"].push_back({{"labels", output.labels}, {"log_probability", output.log_probability}});
  }
  return row.dump();
}

std::string logits_text(const Prediction& prediction) {
  return std::visit(
      []<class T>(const Tensor<T>& logits) {
        constexpr const char* kFormat = std::is_same_v<T, float> ? "{:.9g}" : "{:.17g}";
        return fmt::format(kFormat, fmt::join(logits.data(), logits.data() + logits.size(), " "));
      },
      prediction.logits);
}

std::string error_json(const std::string& message) {
  return nlohmann::json({{"error", message}}).dump();
}

}  // namespace xgrad

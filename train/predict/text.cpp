#include <xgrad/train/predict/text.hpp>

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include <xgrad/data/excerpt.hpp>

namespace xgrad {

namespace {

template <class T>
std::string spaced(const char* format, const T* values, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text += ' ';
    text += fmt::format(fmt::runtime(format), values[i]);
  }
  return text;
}

std::string spaced(const char* format, const std::vector<double>& values) {
  return spaced(format, values.data(), values.size());
}

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
  if (!prediction.numbers.empty()) return spaced("{:.6g}", prediction.numbers);
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < prediction.labels.size(); ++i) {
    if (!prediction.multi_label || prediction.probabilities[i] > 0.5) {
      labels.push_back(prediction.labels[i]);
    }
  }
  return joined(labels, " ");
}

std::string prediction_tsv(const Prediction& prediction) {
  if (!prediction.numbers.empty()) return spaced("{}", prediction.numbers);
  std::vector<std::string> labels;
  for (const std::string& label : prediction.labels) labels.push_back(escaped(label));
  std::string text = joined(labels, " ") + "\t" + spaced("{:.6f}", prediction.probabilities);
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
        const std::string format = fmt::format("{{:.{}g}}", std::numeric_limits<T>::max_digits10);
        return spaced(format.c_str(), logits.data(), logits.size());
      },
      prediction.logits);
}

std::string error_json(const std::string& message) {
  return nlohmann::json({{"error", message}}).dump();
}

}  // namespace xgrad

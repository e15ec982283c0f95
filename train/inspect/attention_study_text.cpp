// Writes a study of attention as text and as HDF5.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include <xgrad/data/text/amounts.hpp>
#include <xgrad/data/text/columns.hpp>
#include <xgrad/storage/hdf5/own_hdf5.hpp>
#include <xgrad/train/inspect/attention_study.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kNameWidth = 8;  // width of a token in front of its row

// The loss and the most important other metric.
struct Two {
  explicit Two(const Metrics& metrics)
      : loss(metrics.figures()[0].value),
        name(metrics.figures()[1].name),
        figure(metrics.figures()[1].value) {}
  double loss;
  std::string name;
  double figure;
};

std::string layer_text(const AttentionStudy& study, const LayerStudy& layer) {
  const Two whole(study.metrics);
  std::string text = fmt::format(
      "\n{}\n  head  entropy  distance  asymmetry  loss without  {:>16}  cosine with head",
      layer.path, whole.name + " without");
  const std::size_t heads = layer.metrics.heads();
  for (std::size_t h = 0; h < heads; ++h) text += fmt::format(" {:>4}", h);
  for (std::size_t h = 0; h < heads; ++h) {
    const Two without(layer.without[h]);
    text += fmt::format(
        "\n  {:>4}  {:>7.3f}  {:>8.2f}  {:>9.3f}  {:>5.3f} {:>+6.3f}  {:>8.4f} {:>+7.4f}  {:>16}",
        h, layer.metrics.entropy(h), layer.metrics.distance(h), layer.metrics.asymmetry(h),
        without.loss, without.loss - whole.loss, without.figure, without.figure - whole.figure, "");
    for (std::size_t g = 0; g < heads; ++g) {
      text += fmt::format(" {:>4.2f}", layer.metrics.redundancy(g, h));
    }
  }
  return text + "\n";
}

// The first `most` characters of a UTF-8 word, padded with spaces.
std::string shortened(const std::string& word, std::size_t most) {
  std::string text;
  std::size_t count = 0;
  for (const char c : word) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80 && ++count > most) break;
    text += c;
  }
  return text + std::string(most - std::min(most, count), ' ');
}

}  // namespace

const char* outputs_read(bool forced) {
  return forced ? "; the decoder reads the targets (teacher forcing)" : "";
}

std::string to_text(const AttentionStudy& study) {
  const Two whole(study.metrics);
  std::string text = fmt::format("{} examples: loss {:.4f}, {} {:.4f}{}\n", grouped(study.examples),
                                 whole.loss, whole.name, whole.figure, outputs_read(study.forced));
  for (const LayerStudy& layer : study.layers) text += layer_text(study, layer);
  return text;
}

std::string to_text(const SilencedHeads& silenced) {
  std::vector<std::vector<std::string>> rows{{"metric", "whole", "without", "change"}};
  const std::vector<Figure> whole = silenced.whole.figures(), without = silenced.without.figures();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    rows.push_back({whole[i].name, fmt::format("{:.4f}", whole[i].value),
                    fmt::format("{:.4f}", without[i].value),
                    fmt::format("{:+.4f}", without[i].value - whole[i].value)});
  }
  return grouped(silenced.examples) + " examples" + outputs_read(silenced.forced) + "\n" +
         text_table(rows);
}

std::string heat_map(const Tensor<double>& probabilities, std::size_t sample, std::size_t head,
                     const std::vector<std::string>& rows,
                     const std::vector<std::string>& columns) {
  constexpr std::string_view shades = " .:-=+*#%@";
  const auto& s = probabilities.shape();
  const double* p = probabilities.data() + (sample * s[1] + head) * s[2] * s[3];
  const auto name = [](const std::vector<std::string>& names, std::size_t i, std::size_t most) {
    return shortened(i < names.size() ? names[i] : std::to_string(i), most);
  };
  std::string text(kNameWidth, ' ');
  for (std::size_t j = 0; j < s[3]; ++j) text += " " + name(columns, j, 2);
  for (std::size_t i = 0; i < s[2]; ++i) {
    text += "\n" + name(rows, i, kNameWidth);
    for (std::size_t j = 0; j < s[3]; ++j) {
      const double a = std::clamp(p[i * s[3] + j], 0.0, 1.0);
      text += " " + std::string(2, shades[std::min<std::size_t>(9, std::size_t(a * 10))]);
    }
  }
  return text + "\n";
}

std::string to_hdf5(const AttentionStudy& study, const std::vector<AttentionMap>& maps,
                    const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs) {
  std::size_t bytes = 0;
  for (const AttentionMap& map : maps) bytes += 8 * map.probabilities.size();
  Hdf5Writer file(bytes);
  const auto lines = [&](const char* name, const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) all += text + "\n";
    if (!texts.empty()) file.value(name, all);
  };
  lines("/inputs", inputs);
  lines("/outputs", outputs);
  file.number("/examples", study.examples);
  for (const LayerStudy& layer : study.layers) {
    const std::string group = "/" + layer.path;
    file.group(group);
    for (const AttentionMap& map : maps) {
      if (map.path == layer.path) file.tensor(group + "/maps", map.probabilities);
    }
    const AttentionMetrics& metrics = layer.metrics;
    const std::size_t heads = metrics.heads();
    const auto per_head = [&](const std::string& name, const auto& f) {
      Tensor<double> values = empty<double>({heads});
      for (std::size_t h = 0; h < heads; ++h) values(h) = f(h);
      file.tensor(group + "/" + name, values);
    };
    per_head("entropy", [&](std::size_t h) { return metrics.entropy(h); });
    per_head("distance", [&](std::size_t h) { return metrics.distance(h); });
    per_head("asymmetry", [&](std::size_t h) { return metrics.asymmetry(h); });
    Tensor<double> redundancy = empty<double>({heads, heads});
    for (std::size_t i = 0; i < redundancy.size(); ++i) {
      redundancy.data()[i] = metrics.redundancy(i / heads, i % heads);
    }
    file.tensor(group + "/redundancy", redundancy);
    per_head("loss_without", [&](std::size_t h) { return Two(layer.without[h]).loss; });
    per_head(Two(study.metrics).name + "_without",
             [&](std::size_t h) { return Two(layer.without[h]).figure; });
  }
  return file.take_image();
}

}  // namespace xgrad

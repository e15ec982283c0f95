#include <xgrad/train/inspect/attention_study.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string_view>

#include <xgrad/autograd/tensor.hpp>
#include <xgrad/data/example_text.hpp>
#include <xgrad/layers/module.hpp>
#include <xgrad/storage/formats/png.hpp>
#include <xgrad/storage/hdf5/own_hdf5.hpp>
#include <xgrad/text/amounts.hpp>
#include <xgrad/text/columns.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/inspect/activations.hpp>
#include <xgrad/train/metrics/metrics.hpp>
#include <xgrad/train/model/build.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kSide = 128;  // side of a head's picture, in pixels
constexpr std::size_t kGap = 4;
constexpr std::uint8_t kGrey = 160;
constexpr std::size_t kNameWidth = 8;  // width of a token before its row

std::string layer_text(const std::vector<Figure>& whole, const LayerStudy& layer) {
  std::string text = fmt::format(
      "\n{}\n  head  entropy  distance  asymmetry  loss without  {:>16}  cosine with head",
      layer.path, whole[1].name + " without");
  const AttentionMetrics& m = layer.metrics;
  for (std::size_t h = 0; h < m.heads(); ++h) text += fmt::format(" {:>4}", h);
  for (std::size_t h = 0; h < m.heads(); ++h) {
    const std::vector<Figure> without = layer.without[h].figures();
    const double loss = without[0].value, other = without[1].value;
    text += fmt::format(
        "\n  {:>4}  {:>7.3f}  {:>8.2f}  {:>9.3f}  {:>5.3f} {:>+6.3f}  {:>8.4f} {:>+7.4f}  {:>16}",
        h, m.entropy(h), m.distance(h), m.asymmetry(h), loss, loss - whole[0].value, other,
        other - whole[1].value, "");
    for (std::size_t g = 0; g < m.heads(); ++g)
      text += fmt::format(" {:>4.2f}", m.redundancy(g, h));
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

// A head of an attention module that has `heads`.
struct SilentHead {
  std::string path;
  std::size_t head, heads;
};

// The metrics of a model in which the outputs of these heads are 0.
template <class T>
Metrics without(const std::vector<SilentHead>& silent, const SequenceModel<T>& model,
                const Parameters<T>& parameters, Pass pass, const Objective& objective) {
  EachActivation<T> silencer(
      parameters, "head_outputs",
      [&](const std::string& path, const ActivationPlace&, const Variable<T>& x) {
        Tensor<T> factors = ones<T>({x.shape().back()});
        for (const SilentHead& s : silent) {
          const std::size_t width = factors.size() / s.heads;
          if (s.path == path) std::fill_n(factors.data() + s.head * width, width, T(0));
        }
        return mul(x, Variable<T>(std::move(factors)));
      });
  pass.context = silencer.context();
  return evaluate(model, pass, objective);
}

}  // namespace

template <class T>
std::vector<AttentionMap> attention_maps(const SequenceModel<T>& model,
                                         const Parameters<T>& parameters, const Batch& batch) {
  const NoGrad no_grad;
  std::vector<AttentionMap> maps;
  EachActivation<T> reader(
      parameters, "weights",
      [&](const std::string& path, const ActivationPlace&, const Variable<T>& x) {
        maps.push_back({path, cast<double>(x.value())});
        return x;
      });
  model(BatchInput<T>(batch).input(), reader.context());
  return maps;
}

template <class T>
AttentionStudy study_attention(const SequenceModel<T>& model, const Parameters<T>& parameters,
                               const Pass& pass, const Objective& objective) {
  AttentionStudy study;
  study.examples = pass.dataset.size();
  study.forced = pass.shape.output == OutputKind::generated;
  EachActivation<T> reader(
      parameters, "weights",
      [&](const std::string& path, const ActivationPlace& place, const Variable<T>& x) {
        auto at = std::ranges::find(study.layers, path, &LayerStudy::path);
        if (at == study.layers.end()) at = study.layers.insert(at, {path, {}, {}});
        at->metrics.add(cast<double>(x.value()), place.query_mask, place.cross);
        return x;
      });
  Pass observed = pass;
  observed.context = reader.context();
  evaluate(model, observed, objective);
  study.metrics = evaluate(model, pass, objective);  // with fused attention, unlike the study
  for (LayerStudy& layer : study.layers) {
    for (SilentHead head{layer.path, 0, layer.metrics.heads()}; head.head < head.heads;
         ++head.head) {
      layer.without.push_back(without({head}, model, parameters, pass, objective));
    }
  }
  return study;
}

template <class T>
SilencedHeads silence_heads(const SequenceModel<T>& model, const Parameters<T>& parameters,
                            const Pass& pass, const Objective& objective,
                            const std::vector<Head>& heads) {
  const std::vector<AttentionMap> maps =
      attention_maps(model, parameters, collate({pass.dataset.get(0, 0)}, pass.shape));
  std::vector<SilentHead> silent;
  for (const Head& head : heads) {
    check<ConfigError>(head.layer < maps.size(), "head ", head.layer, ".", head.head,
                       ": the model has ", maps.size(), " attention layers, counted from 0");
    const std::size_t count = maps[head.layer].probabilities.shape()[1];
    check<ConfigError>(head.head < count, "head ", head.layer, ".", head.head, ": layer ",
                       head.layer, " has ", count, " heads, counted from 0");
    silent.push_back({maps[head.layer].path, head.head, count});
  }
  return {pass.dataset.size(), pass.shape.output == OutputKind::generated,
          evaluate(model, pass, objective), without(silent, model, parameters, pass, objective)};
}

std::vector<std::string> token_names(const Example& example, const TaskShape& shape,
                                     std::size_t rows) {
  const Example tokens{.ids = example.ids};  // without edges, which are no tokens
  std::vector<std::string> names;
  std::istringstream words(shape.input == InputKind::tokens ? input_text(tokens, shape) : "");
  for (std::string word; words >> word;) names.push_back(word);
  if (names.size() + 1 == rows) names.insert(names.begin(), "[class]");
  return names;
}

std::pair<std::vector<std::string>, std::vector<std::string>> map_names(const AttentionMap& map,
                                                                        const Example& example,
                                                                        const TaskShape& shape) {
  const auto inputs = token_names(example, shape, map.probabilities.shape()[3]);
  const bool decodes = shape.output == OutputKind::generated && map.path.starts_with("decoder.");
  if (!decodes) return {inputs, inputs};
  std::vector<std::string> rows, read{"[begin]"};
  for (const std::int32_t c : example.targets) rows.push_back(class_text(c, shape));
  read.insert(read.end(), rows.begin(), rows.end() - 1);
  return {rows, map.path.ends_with("self_attn") ? read : inputs};
}

const char* outputs_read(bool forced) {
  return forced ? "; the decoder reads the targets (teacher forcing)" : "";
}

std::string to_text(const AttentionStudy& study) {
  const std::vector<Figure> whole = study.metrics.figures();
  std::string text =
      fmt::format("{} examples: loss {:.4f}, {} {:.4f}{}\n", grouped(study.examples),
                  whole[0].value, whole[1].name, whole[1].value, outputs_read(study.forced));
  for (const LayerStudy& layer : study.layers) text += layer_text(whole, layer);
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
  if (!inputs.empty()) file.value("/inputs", joined(inputs, "\n") + "\n");
  if (!outputs.empty()) file.value("/outputs", joined(outputs, "\n") + "\n");
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
    for (const std::size_t i : {0, 1}) {
      per_head(study.metrics.figures()[i].name + "_without",
               [&](std::size_t h) { return layer.without[h].figures()[i].value; });
    }
  }
  return file.take_image();
}

std::size_t attended_tokens(const Example& example, const TaskShape& shape, std::size_t patch) {
  const std::size_t tokens = shape.input == InputKind::image
                                 ? (shape.height / patch) * (shape.width / patch)
                                 : length_of(example, shape);
  return std::max(tokens, example.targets.size());
}

Picture head_picture(const AttentionMap& map, std::size_t head) {
  const auto& s = map.probabilities.shape();
  const double* p = map.probabilities.data() + head * s[2] * s[3];
  const double largest = std::max(1e-12, *std::max_element(p, p + s[2] * s[3]));
  Picture picture{s[3], s[2], {}};
  for (std::size_t i = 0; i < s[2] * s[3]; ++i) {
    const double a = std::sqrt(std::clamp(p[i] / largest, 0.0, 1.0));
    for (const double end : {8.0, 48.0, 107.0}) {
      picture.rgb.push_back(std::uint8_t(247 + a * (end - 247)));
    }
  }
  return picture;
}

Picture heads_picture(const AttentionMap& map) {
  const auto& s = map.probabilities.shape();
  const std::size_t square = std::max<std::size_t>(1, kSide / std::max(s[2], s[3]));
  const std::size_t step = square * s[3] + kGap;
  std::vector<Picture> heads;
  for (std::size_t h = 0; h < s[1]; ++h) heads.push_back(head_picture(map, h));
  Picture all{s[1] * step - kGap, square * s[2], {}};
  for (std::size_t i = 0; i < all.width * all.height; ++i) {
    const std::size_t row = i / all.width / square, x = i % all.width, column = x % step / square;
    for (std::size_t c = 0; c < 3; ++c) {
      all.rgb.push_back(column < s[3] ? heads[x / step].rgb[3 * (row * s[3] + column) + c] : kGrey);
    }
  }
  return all;
}

#define XGRAD_INSTANTIATE(T)                                                                       \
  template std::vector<AttentionMap> attention_maps(const SequenceModel<T>&, const Parameters<T>&, \
                                                    const Batch&);                                 \
  template AttentionStudy study_attention(const SequenceModel<T>&, const Parameters<T>&,           \
                                          const Pass&, const Objective&);                          \
  template SilencedHeads silence_heads(const SequenceModel<T>&, const Parameters<T>&, const Pass&, \
                                       const Objective&, const std::vector<Head>&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

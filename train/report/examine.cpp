#include <xgrad/train/report/examine.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <xgrad/data/text/amounts.hpp>
#include <xgrad/data/text/example_text.hpp>
#include <xgrad/train/config/precision.hpp>
#include <xgrad/train/inspect/attention_study.hpp>
#include <xgrad/train/model/mixed_precision.hpp>
#include <xgrad/train/predict/loaded_model.hpp>
#include <xgrad/train/report/html.hpp>

namespace xgrad {

using html::escape;

namespace {

constexpr std::size_t kExamples = 1000;
constexpr std::size_t kSamples = 8;       // right ones and wrong ones
constexpr std::size_t kMostClasses = 40;  // largest confusion matrix that is readable
constexpr std::size_t kMostNumbers = 32;  // of a prediction
constexpr std::size_t kMostMaps = 48;

// An image as a data: URI.
std::string picture_of(const Example& example, const TaskShape& shape) {
  const auto [low, high] = std::minmax_element(example.features.begin(), example.features.end());
  const float span = *high > *low ? *high - *low : 1;
  Picture picture{shape.width, shape.height, {}};
  for (std::size_t pixel = 0; pixel < shape.height * shape.width; ++pixel) {
    for (std::size_t c = 0; c < 3; ++c) {
      const std::size_t channel = shape.channels == 3 ? c : 0;
      const float value = example.features[pixel * shape.channels + channel];
      picture.rgb.push_back(std::uint8_t(255 * (value - *low) / span));
    }
  }
  return html::uri(picture);
}

void put_input(const Example& example, const TaskShape& shape, Sample& sample) {
  if (shape.input == InputKind::image) {
    sample.picture = picture_of(example, shape);
  } else {
    sample.input = input_text(example, shape);
  }
}

void put(Sample& sample, const std::string& target, const std::string& prediction, bool right) {
  sample.targets.push_back(target);
  sample.predictions.push_back(prediction);
  sample.right = sample.right && right;
}

// Adds targets and predictions. `outputs` are `count` numbers.
template <class T>
void judge(const Example& example, const TaskShape& shape, const T* outputs, std::size_t count,
           Sample& sample) {
  const std::size_t classes = shape.classes;
  if (shape.target == TargetKind::numbers) {
    sample.targets.push_back(target_text(example, shape));
    for (std::size_t i = 0; i < std::min(count, kMostNumbers); ++i) {
      sample.predictions.push_back(fmt::format("{:.4g}", double(outputs[i])));
    }
  }
  for (std::size_t t = 0; t < example.targets.size() && (t + 1) * classes <= count; ++t) {
    const std::int32_t target = example.targets[t];
    const T* logits = outputs + t * classes;
    const auto guess = std::int32_t(std::max_element(logits, logits + classes) - logits);
    const bool counts = target != kIgnore;
    put(sample, class_text(target, shape), class_text(counts ? guess : target, shape),
        !counts || guess == target);
  }
  for (std::size_t i = 0; shape.target == TargetKind::binary && i < example.values.size(); ++i) {
    if (std::isnan(example.values[i])) continue;
    const bool yes = example.values[i] > 0.5f, guess = outputs[i] > 0;
    put(sample, answer_text(yes, i % classes, shape), answer_text(guess, i % classes, shape),
        guess == yes);
  }
}

// Evaluates the first examples, keeps some of them and counts classes. Returns the first.
template <class T>
Example look(const LoadedModel<T>& loaded, const Dataset& test, std::size_t batch_size,
             Examination& found) {
  const TaskShape& shape = loaded.shape;
  std::optional<Example> mapped;
  for (std::size_t first = 0; first < found.examples; first += batch_size) {
    std::vector<Example> examples;
    for (std::size_t i = first; i < std::min(found.examples, first + batch_size); ++i) {
      examples.push_back(test.get(0, i));
    }
    const Batch batch = collate(examples, shape);
    const Tensor<T> outputs = (*loaded.model)(BatchInput<T>(batch).input(), Context{}).value();
    if (!found.names.empty()) found.classes.add(outputs, batch);
    const std::size_t row = outputs.size() / examples.size();
    for (std::size_t i = 0; i < examples.size(); ++i) {
      Sample sample;
      judge(examples[i], shape, outputs.data() + i * row, row, sample);
      auto& kept = sample.right ? found.right : found.wrong;
      if (kept.size() == kSamples) continue;
      put_input(examples[i], shape, sample);
      kept.push_back(std::move(sample));
      if (!mapped) mapped = examples[i];
    }
  }
  return mapped.value();
}

template <class T>
Examination examine(const FoundRun& source, bool heads) {
  const NoGrad no_grad;
  const LoadedModel<T> loaded(source);
  const TaskShape& shape = loaded.shape;
  const TrainConfig& train = source.config.train;
  const auto all = loaded.task->dataset(Split::test);
  const Subset test(*all, kExamples);
  Examination found;
  found.step = source.checkpoint.step;
  found.cpu = processor_class(source.checkpoint);
  found.examples = test.size();
  found.forced = shape.output == OutputKind::generated;
  found.judged = shape.target != TargetKind::numbers;
  if (shape.target == TargetKind::classes && shape.classes <= kMostClasses) {
    for (std::size_t c = 0; c < shape.classes; ++c) {
      found.names.push_back(class_text(std::int32_t(c), shape));
    }
    found.classes = ClassReport(shape.classes);
  }
  const Example mapped = look(loaded, test, train.batch, found);
  if (attended_tokens(mapped, shape, source.config.model.patch) <= kMostMapped) {
    put_input(mapped, shape, found.mapped);
    if (found.forced) found.mapped.targets = {target_text(mapped, shape)};
    found.maps = attention_maps(*loaded.model, loaded.parameters, collate({mapped}, shape));
  }
  for (const Parameter<T>& p : loaded.parameters) {
    if (p.name != "embedding.token.weight") continue;
    found.embeddings = map_embeddings(cast<double>(p.value()), shape, test);
  }
  if (heads) {
    found.heads = study_attention(*loaded.model, loaded.parameters, {test, shape, train.batch},
                                  make_objective(train, shape));
  }
  found.ceiling = loaded.task->ceiling(Split::test);
  const std::size_t seen = source.checkpoint.step * train.batch * train.accumulate;
  found.baseline = measure_baseline(*loaded.task, std::max(kExamples, seen));
  found.rules = loaded.task->rules();
  return found;
}

// The input, and targets and predictions unless there are none; marks errors if `judged`.
std::string sample_box(const Sample& sample, bool judged) {
  std::string text = "<div class=\"sample\">";
  text += sample.picture.empty() ? "<dl><dt>input</dt><dd>" + escape(sample.input) + "</dd>"
                                 : "<img alt=\"the input\" src=\"" + sample.picture + "\"><dl>";
  const auto add = [&](const char* name, const std::vector<std::string>& shown) {
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const bool wrong = judged && i < sample.targets.size() && shown[i] != sample.targets[i];
      text += i > 0 ? " " : fmt::format("<dt>{}</dt><dd>", name);
      text += wrong ? "<mark>" + escape(shown[i]) + "</mark>" : escape(shown[i]);
    }
    if (!shown.empty()) text += "</dd>";
  };
  add("target", sample.targets);
  add("model", sample.predictions);
  return text + "</dl></div>\n";
}

std::string boxes(const std::string& title, const std::vector<Sample>& samples, bool judged) {
  if (samples.empty()) return "";
  std::string text = "<h3>" + title + "</h3>\n<div class=\"samples\">\n";
  for (const Sample& sample : samples) text += sample_box(sample, judged);
  return text + "</div>\n";
}

// The confusion matrix. A cell is darker the larger its part of the row.
std::string confusion_section(const Examination& found) {
  const std::size_t n = found.names.size();
  if (n == 0 || !found.classes.has_confusion()) return "";
  std::string text =
      "<div class=\"wide\"><table class=\"matrix\">\n<tr><th scope=\"col\">target \\ model</th>";
  for (const std::string& name : found.names) {
    text += "<th scope=\"col\">" + escape(name) + "</th>";
  }
  for (std::size_t i = 0; i < n; ++i) {
    text += "</tr>\n<tr><th scope=\"row\">" + escape(found.names[i]) + "</th>";
    const double total = std::max(1.0, found.classes.recall(i).count());
    for (std::size_t j = 0; j < n; ++j) {
      const std::uint64_t count = found.classes.confusion(i, j);
      const double part = double(count) / total;
      const char* kind = part > 0.5 ? "strong" : count == 0 ? "zero" : "";
      text += fmt::format("<td class=\"{}\" style=\"--a:{:.2f}\">{}</td>", kind, part, count);
    }
  }
  return text + "</tr>\n</table></div>\n";
}

// The attention maps of every head for one example.
std::string maps_section(const Examination& found) {
  std::size_t all = 0;
  std::string figures;
  for (const AttentionMap& map : found.maps) {
    for (std::size_t head = 0; head < map.probabilities.shape()[1]; ++head) {
      if (++all > kMostMaps) continue;
      const std::string name = fmt::format("{}, head {}", map.path, head);
      figures += "<figure><img alt=\"attention map of " + escape(name) + "\" src=\"" +
                 html::uri(head_picture(map, head)) + "\"><figcaption>" +
                 html::breakable(name, '.') + "</figcaption></figure>\n";
    }
  }
  if (figures.empty()) return "";
  std::string text =
      "<p class=\"soft\">A row for each token that looks, a column for each that is looked at";
  if (all > kMostMaps) text += fmt::format("; the first {} of {} maps", kMostMaps, all);
  return text + outputs_read(found.forced) + ".</p>\n" + sample_box(found.mapped, false) +
         "<div class=\"maps\">\n" + figures + "</div>\n";
}

// The metrics of each head over all examples, and the loss of the model without it.
std::string heads_section(const AttentionStudy& study) {
  std::string text;
  const std::vector<Figure> whole = study.metrics.figures();
  for (const LayerStudy& layer : study.layers) {
    std::vector<std::vector<std::string>> rows{{escape(layer.path), "entropy", "distance",
                                                "asymmetry", "loss without",
                                                escape(whole[1].name) + " without"}};
    for (std::size_t h = 0; h < layer.metrics.heads(); ++h) {
      rows[0].push_back(fmt::format("cosine with head {}", h));
      const std::vector<Figure> without = layer.without[h].figures();
      const double loss = without[0].value, other = without[1].value;
      rows.push_back({fmt::format("head {}", h), fmt::format("{:.3f}", layer.metrics.entropy(h)),
                      fmt::format("{:.2f}", layer.metrics.distance(h)),
                      fmt::format("{:.3f}", layer.metrics.asymmetry(h)),
                      fmt::format("{:.3f} ({:+.3f})", loss, loss - whole[0].value),
                      fmt::format("{:.4f} ({:+.4f})", other, other - whole[1].value)});
      for (std::size_t g = 0; g < layer.metrics.heads(); ++g) {
        rows.back().push_back(fmt::format("{:.2f}", layer.metrics.redundancy(g, h)));
      }
    }
    text += html::table(rows);
  }
  return text;
}

}  // namespace

Examination examine(const std::string& directory, bool heads) {
  const FoundRun source = find_run(directory);
  return with_precision(source.config, [&]<class T>() { return examine<T>(source, heads); });
}

std::string sections_of(const Examination& found, const std::string& of) {
  const std::string where =
      fmt::format("<p class=\"soft\">The first {} examples of the test split, at step {}{}.</p>\n",
                  grouped(found.examples), grouped(found.step), outputs_read(found.forced));
  std::string text;
  const auto add = [&](const char* title, const std::string& section) {
    if (!section.empty()) text += "<h2>" + (title + of) + "</h2>\n" + section;
  };
  const std::string matrix = confusion_section(found),
                    heads = found.heads ? heads_section(*found.heads) : "";
  add("Confusion", matrix.empty() ? "" : where + matrix);
  add("Examples",
      where + (found.judged ? boxes("Wrong", found.wrong, true) + boxes("Right", found.right, true)
                            : boxes("Some examples", found.right, false)));
  add("Attention", maps_section(found));
  add("Embeddings", found.embeddings ? html::embeddings_section(*found.embeddings) : "");
  add("Heads", heads.empty() ? "" : where + heads);
  return text;
}

}  // namespace xgrad

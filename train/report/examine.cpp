#include <xgrad/train/report/report.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <xgrad/data/example_text.hpp>
#include <xgrad/data/rules/baseline.hpp>
#include <xgrad/text/amounts.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/inspect/attention_study.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/predict/predictor.hpp>

namespace xgrad {

using html::escape;

namespace {

constexpr std::size_t kExamples = 1000;
constexpr std::size_t kSamples = 8;       // right ones and wrong ones
constexpr std::size_t kMostClasses = 40;  // largest confusion matrix that is readable
constexpr std::size_t kMostNumbers = 32;  // of a prediction
constexpr std::size_t kMostMaps = 48;

// An example with its prediction.
struct Sample {
  std::string input = {};  // as HTML, with the start of the list of all parts
  // By word, yes-or-no answer or number.
  std::vector<std::string> targets = {}, predictions = {};
  bool right = true;  // every class or answer that counts is right
};

// The input as text, or as a picture before the list.
std::string input_box(const Example& example, const TaskShape& shape) {
  if (shape.input != InputKind::image) {
    return "<dl><dt>input</dt><dd>" + escape(input_text(example, shape)) + "</dd>";
  }
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
  return "<img alt=\"the input\" src=\"" + html::uri(picture) + "\"><dl>";
}

// Targets and predictions. `outputs` are `count` numbers.
template <class T>
Sample judged(const Example& example, const TaskShape& shape, const T* outputs, std::size_t count) {
  Sample sample;
  const std::size_t classes = shape.classes;
  if (shape.target == TargetKind::numbers) {
    const T* const end = outputs + std::min(count, kMostNumbers);
    sample.targets = {target_text(example, shape)};
    sample.predictions = {fmt::format("{:.4g}", fmt::join(outputs, end, " "))};
  }
  const auto put = [&](const std::string& target, const std::string& prediction, bool right) {
    sample.targets.push_back(target);
    sample.predictions.push_back(prediction);
    sample.right = sample.right && right;
  };
  for (std::size_t t = 0; t < example.targets.size() && (t + 1) * classes <= count; ++t) {
    const std::int32_t target = example.targets[t];
    const T* logits = outputs + t * classes;
    const auto guess = std::int32_t(std::max_element(logits, logits + classes) - logits);
    const bool counts = target != kIgnore;
    put(class_text(target, shape), class_text(counts ? guess : target, shape),
        !counts || guess == target);
  }
  for (std::size_t i = 0; shape.target == TargetKind::binary && i < example.values.size(); ++i) {
    if (std::isnan(example.values[i])) continue;
    const bool yes = example.values[i] > 0.5f, guess = outputs[i] > 0;
    put(answer_text(yes, i % classes, shape), answer_text(guess, i % classes, shape), guess == yes);
  }
  return sample;
}

// The input, and targets and predictions unless there are none; marks errors if `judged`.
std::string sample_box(const Sample& sample, bool judged) {
  std::string text = "<div class=\"sample\">" + sample.input;
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
std::string confusion_section(const ClassReport& classes, const TaskShape& shape) {
  if (!classes.has_confusion()) return "";
  std::string text =
      "<div class=\"wide\"><table class=\"matrix\">\n<tr><th scope=\"col\">target \\ model</th>";
  const auto head = [&](const char* scope, std::size_t c) {
    const std::string name = escape(class_text(std::int32_t(c), shape));
    return fmt::format("<th scope=\"{}\">{}</th>", scope, name);
  };
  for (std::size_t c = 0; c < classes.classes(); ++c) text += head("col", c);
  for (std::size_t i = 0; i < classes.classes(); ++i) {
    text += "</tr>\n<tr>" + head("row", i);
    const double total = std::max(1.0, classes.recall(i).count());
    for (std::size_t j = 0; j < classes.classes(); ++j) {
      const std::uint64_t count = classes.confusion(i, j);
      const double part = double(count) / total;
      const char* kind = part > 0.5 ? "strong" : count == 0 ? "zero" : "";
      text += fmt::format("<td class=\"{}\" style=\"--a:{:.2f}\">{}</td>", kind, part, count);
    }
  }
  return text + "</tr>\n</table></div>\n";
}

// The attention maps of every head for one example; empty if it is too long.
template <class T>
std::string maps_section(const LoadedModel<T>& loaded, const Example& example, std::size_t patch) {
  const TaskShape& shape = loaded.shape;
  if (attended_tokens(example, shape, patch) > kMostMapped) return "";
  const bool forced = shape.output == OutputKind::generated;
  Sample sample{.input = input_box(example, shape)};
  if (forced) sample.targets = {target_text(example, shape)};
  std::size_t all = 0;
  std::string figures;
  const Batch batch = collate({example}, shape);
  for (const AttentionMap& map : attention_maps(*loaded.model, loaded.parameters, batch)) {
    for (std::size_t head = 0; head < map.probabilities.shape()[1]; ++head) {
      if (++all > kMostMaps) continue;
      const std::string name = fmt::format("{}, head {}", map.path, head);
      figures += "<figure><img alt=\"attention map of " + escape(name) + "\" src=\"" +
                 html::uri(head_picture(map, head)) + "\"><figcaption>" +
                 html::breakable(name, '.') + "</figcaption></figure>\n";
    }
  }
  if (figures.empty()) return "";
  return fmt::format(
      "<p class=\"soft\">A row for each token that looks, a column for each that is looked at{}{}."
      "</p>\n{}<div class=\"maps\">\n{}</div>\n",
      all > kMostMaps ? fmt::format("; the first {} of {} maps", kMostMaps, all) : "",
      outputs_read(forced), sample_box(sample, false), figures);
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

// Names and values of references for the results on the test split.
std::vector<std::vector<std::string>> references(const Task& task, std::size_t examples_seen) {
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const std::string& name, const std::optional<double>& value) {
    if (value) rows.push_back({escape(name) + ", test", fmt::format("{:.4f}", *value)});
  };
  if (const std::optional<Ceiling> ceiling = task.ceiling(Split::test)) {
    const bool classes = ceiling->accuracy > 0;  // it is 0 for tasks with numbers as targets
    if (classes) add("highest accuracy there can be", ceiling->accuracy);
    add("lowest loss there can be", ceiling->loss);
  }
  const Baseline baseline = measure_baseline(task, std::max(kExamples, examples_seen));
  add("accuracy of the most frequent answer", baseline.majority);
  add("accuracy from each token alone", baseline.own_token);
  add(fmt::format("accuracy from windows of up to {} tokens", 2 * kBaselineRadius + 1),
      baseline.window);
  for (const Rule& rule : task.rules()) {
    add("accuracy of the rule \"" + rule.name + "\"", rule.accuracy);
    add("loss of the rule \"" + rule.name + "\"", rule.loss);
  }
  return rows;
}

template <class T>
Examination examine(const FoundRun& source, bool with_heads) {
  const NoGrad no_grad;
  const LoadedModel<T> loaded(source);
  const TaskShape& shape = loaded.shape;
  const TrainConfig& train = source.config.train;
  const auto all = loaded.task->dataset(Split::test);
  const Subset test(*all, kExamples);
  const Pass pass{test, shape, train.batch};
  ClassReport classes(
      shape.target == TargetKind::classes && shape.classes <= kMostClasses ? shape.classes : 0);
  std::vector<Sample> right, wrong;
  std::size_t index = 0;
  for_each_output(*loaded.model, pass, [&](const Tensor<T>& outputs, const Batch& batch) {
    if (classes.classes() > 0) classes.add(outputs, batch);
    const std::size_t row = outputs.size() / batch.size;
    for (std::size_t i = 0; i < batch.size; ++i) {
      const Example example = test.get(0, index++);
      Sample sample = judged(example, shape, outputs.data() + i * row, row);
      auto& kept = sample.right ? right : wrong;
      if (kept.size() == kSamples) continue;
      sample.input = input_box(example, shape);
      kept.push_back(std::move(sample));
    }
  });

  const std::uint64_t step = source.checkpoint.step;
  Examination found{arithmetic_of(source.checkpoint),
                    {},
                    references(*loaded.task, step * train.batch * train.accumulate)};
  const std::string where = fmt::format(
      "<p class=\"soft\">The first {} examples of the test split, at step {}{}.</p>\n",
      grouped(test.size()), grouped(step), outputs_read(shape.output == OutputKind::generated));
  const auto add = [&](const char* title, const std::string& of, const std::string& section) {
    if (!section.empty()) found.sections.emplace_back(title, of + section);
  };
  add("Confusion", where, confusion_section(classes, shape));
  add("Examples", "",
      where + (shape.target == TargetKind::numbers
                   ? boxes("Some examples", right, false)
                   : boxes("Wrong", wrong, true) + boxes("Right", right, true)));
  add("Attention", "", maps_section(loaded, test.get(0, 0), source.config.model.patch));
  for (const Parameter<T>& p : loaded.parameters) {
    if (p.name != "embedding.token.weight") continue;
    add("Embeddings", "", html::embeddings_section(cast<double>(p.value()), shape, test));
  }
  const Objective objective = make_objective(train, shape);
  if (with_heads) {
    add("Heads", where,
        heads_section(study_attention(*loaded.model, loaded.parameters, pass, objective)));
  }
  return found;
}

}  // namespace

Examination examine(const std::string& directory, bool heads) {
  const FoundRun source = find_run(directory);
  return with_precision(source.config, [&]<class T>() { return examine<T>(source, heads); });
}

}  // namespace xgrad

#include <xgrad/train/report/report.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <xgrad/autograd/portable_math.hpp>
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
constexpr std::size_t kSamples = 6;       // shown: this many right and this many wrong
constexpr std::size_t kMostClasses = 40;  // largest confusion matrix that is readable
constexpr std::size_t kMostNumbers = 32;  // of a prediction

// An example of the test split with its prediction.
struct Sample {
  std::size_t index = 0;
  // One entry for each token, yes-or-no answer or number.
  std::vector<std::string> targets = {}, predictions = {};
  bool right = true;  // every class or answer that counts is right
  // For classes: the probability of the most confident error or, without errors, of the least
  // confident answer. For numbers: the root mean square error.
  double score = 1;
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

// `outputs` are `count` numbers, in the task's scale.
template <class T>
Sample with_numbers(const Example& example, const TaskShape& shape, const T* outputs,
                    std::size_t count) {
  Sample sample;
  double squares = 0, known = 0;
  for (std::size_t i = 0; i < std::min(count, example.values.size()); ++i) {
    const bool scaled = !shape.value_mean.empty();
    const double unit = scaled ? shape.value_deviation[i % shape.classes] : 1;
    const double zero = scaled ? shape.value_mean[i % shape.classes] : 0;
    const double target = example.values[i], off = unit * (double(outputs[i]) - target);
    squares += std::isnan(target) ? 0 : off * off;
    known += !std::isnan(target);
    if (i >= kMostNumbers) continue;
    sample.targets.push_back(std::isnan(target) ? "."
                                                : fmt::format("{:.4g}", zero + unit * target));
    sample.predictions.push_back(fmt::format("{:.4g}", zero + unit * double(outputs[i])));
  }
  sample.score = std::sqrt(squares / std::max(1.0, known));
  if (std::isnan(sample.score)) sample.score = std::numeric_limits<double>::infinity();
  return sample;
}

// `outputs` are `count` logits.
template <class T>
Sample with_answers(const Example& example, const TaskShape& shape, const T* outputs,
                    std::size_t count) {
  Sample sample;
  const std::size_t classes = shape.classes;
  const auto put = [&](const std::string& target, const std::string& answer, bool right, double p) {
    sample.targets.push_back(target);
    sample.predictions.push_back(answer);
    if (!right) sample.score = sample.right ? p : std::max(sample.score, p);
    sample.right = sample.right && right;
    if (sample.right) sample.score = std::min(sample.score, p);
  };
  for (std::size_t t = 0; t < example.targets.size() && (t + 1) * classes <= count; ++t) {
    const std::int32_t target = example.targets[t];
    const T* logits = outputs + t * classes;
    const T* const largest = std::max_element(logits, logits + classes);
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += portable::exp(double(logits[c] - *largest));
    const bool counts = target != kIgnore;
    const auto guess = counts ? std::int32_t(largest - logits) : target;
    put(class_text(target, shape), class_text(guess, shape), guess == target, counts ? 1 / sum : 1);
  }
  for (std::size_t i = 0; shape.target == TargetKind::binary && i < example.values.size(); ++i) {
    if (std::isnan(example.values[i])) continue;
    const bool yes = example.values[i] > 0.5f, guess = outputs[i] > 0;
    put(answer_text(yes, i % classes, shape), answer_text(guess, i % classes, shape), guess == yes,
        1 / (1 + portable::exp(-std::abs(double(outputs[i])))));
  }
  if (std::isnan(sample.score)) sample.score = 0;
  return sample;
}

// Keeps the samples with the highest scores; of equal scores, the first.
void keep_highest(std::vector<Sample>& kept, const Sample& sample) {
  kept.insert(std::ranges::upper_bound(kept, sample.score, std::greater(), &Sample::score), sample);
  if (kept.size() > kSamples) kept.pop_back();
}

// An example with its targets and predictions; marks errors, except of numbers.
std::string sample_box(const Sample& sample, const Dataset& examples, const TaskShape& shape) {
  const bool numbers = shape.target == TargetKind::numbers;
  std::string text = "<div class=\"sample\">" + input_box(examples.get(0, sample.index), shape);
  const auto add = [&](const char* name, const std::vector<std::string>& shown) {
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const bool wrong = !numbers && shown[i] != sample.targets[i];
      text += i > 0 ? " " : fmt::format("<dt>{}</dt><dd>", name);
      text += wrong ? "<mark>" + escape(shown[i]) + "</mark>" : escape(shown[i]);
    }
    if (!shown.empty()) text += "</dd>";
  };
  add("target", sample.targets);
  add("model", sample.predictions);
  text += numbers ? fmt::format("<dt>error</dt><dd>{:.4g}</dd>", sample.score)
                  : "<dt>probability</dt><dd>" + html::bar(sample.score) + "</dd>";
  return text + "</dl></div>\n";
}

// The samples to show, and counts of right and wrong examples.
struct Samples {
  std::size_t wrong_count = 0, right_count = 0;
  std::vector<Sample> wrong = {}, right = {};  // samples of numbers are all in `right`

  void add(const Sample& sample, bool numbers) {
    ++(sample.right ? right_count : wrong_count);
    if (numbers || !sample.right) keep_highest(wrong, sample);
    if (sample.right && right.size() < kSamples) right.push_back(sample);
  }
};

std::string samples_section(const Samples& samples, const Dataset& examples,
                            const TaskShape& shape) {
  const bool numbers = shape.target == TargetKind::numbers;
  const std::string all = grouped(examples.size());
  std::string text;
  const auto add = [&](const std::string& title, const std::vector<Sample>& shown) {
    text += "<h3>" + title + "</h3>\n<div class=\"samples\">\n";
    for (const Sample& sample : shown) text += sample_box(sample, examples, shape);
    text += "</div>\n";
  };
  if (numbers) {
    add("Largest errors", samples.wrong);
    add("The first examples", samples.right);
    return text;
  }
  const auto count = [&](std::size_t n) { return " " + grouped(n) + " of " + all; };
  if (!samples.wrong.empty()) {
    add("Wrong:" + count(samples.wrong_count) + ", the most confident errors first", samples.wrong);
  }
  if (!samples.right.empty()) add("Right:" + count(samples.right_count), samples.right);
  return text +
         "<p class=\"soft\">The probability belongs to the most confident wrong answer of the "
         "example or, if all are right, to the least confident answer.</p>\n";
}

// Precision, recall and F1 of each class; empty without classes.
std::string classes_section(const ClassReport& classes, const TaskShape& shape) {
  if (classes.classes() == 0) return "";
  std::vector<std::vector<std::string>> rows{{"class", "targets", "precision", "recall", "F1"}};
  for (std::size_t c = 0; c < classes.classes(); ++c) {
    rows.push_back({escape(class_text(std::int32_t(c), shape)),
                    grouped(std::uint64_t(classes.recall(c).count()))});
    for (const RatioMean& mean : {classes.precision(c), classes.recall(c), classes.f1(c)}) {
      rows.back().push_back(html::bar(mean.mean()));
    }
  }
  rows.push_back({"mean (macro F1)", "", "", "", html::bar(classes.macro_f1().value)});
  return html::table(rows);
}

// The confusion matrix. A darker cell holds a larger fraction of its row.
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

// The maps of one example; empty if it is too long.
template <class T>
std::string maps_section(const LoadedModel<T>& loaded, const Example& example, std::size_t patch) {
  const TaskShape& shape = loaded.shape;
  if (attended_tokens(example, shape, patch) > kMostMapped) return "";
  const bool forced = shape.output == OutputKind::generated;
  return html::maps_section(
      attention_maps(*loaded.model, loaded.parameters, collate({example}, shape)), example, shape,
      "<div class=\"sample\">" + input_box(example, shape) +
          (forced ? "<dt>target</dt><dd>" + escape(target_text(example, shape)) + "</dd>" : "") +
          "</dl></div>\n");
}

// Names and values of references for the results on the test split.
std::vector<std::vector<std::string>> references(const Task& task, std::size_t examples_seen) {
  std::vector<std::vector<std::string>> rows;
  const auto add = [&](const std::string& name, const std::optional<double>& value) {
    if (value) rows.push_back({escape(name), fmt::format("{:.4f}", *value)});
  };
  if (const std::optional<Ceiling> ceiling = task.ceiling(Split::test)) {
    const bool classes = ceiling->accuracy > 0;  // it is 0 for tasks with numbers as targets
    if (classes) add("best possible accuracy", ceiling->accuracy);
    add("lowest possible loss", ceiling->loss);
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
  const bool numbers = shape.target == TargetKind::numbers;
  ClassReport classes(!numbers && shape.classes <= kMostClasses ? shape.classes : 0);
  Samples samples;
  std::size_t index = 0;
  for_each_output(*loaded.model, pass, [&](const Tensor<T>& outputs, const Batch& batch) {
    if (classes.classes() > 0) classes.add(outputs, batch);
    const std::size_t row = outputs.size() / batch.size;
    for (std::size_t i = 0; i < batch.size; ++i) {
      const T* const own = outputs.data() + i * row;
      const Example example = test.get(0, index);
      Sample sample =
          numbers ? with_numbers(example, shape, own, row) : with_answers(example, shape, own, row);
      sample.index = index++;
      samples.add(sample, numbers);
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
  add("Examples", where, samples_section(samples, test, shape));
  add("Attention", "", maps_section(loaded, test.get(0, 0), source.config.model.patch));
  add("Classes", where, classes_section(classes, shape));
  add("Confusion", "", confusion_section(classes, shape));
  for (const Parameter<T>& p : loaded.parameters) {
    if (p.name != "embedding.token.weight") continue;
    add("Embeddings", "", html::embeddings_section(cast<double>(p.value()), shape, test));
  }
  const Objective objective = make_objective(train, shape);
  if (with_heads) {
    add("Heads", where,
        html::heads_section(study_attention(*loaded.model, loaded.parameters, pass, objective)));
  }
  return found;
}

}  // namespace

Examination examine(const std::string& directory, bool heads) {
  const FoundRun source = find_run(directory);
  return with_precision(source.config, [&]<class T>() { return examine<T>(source, heads); });
}

}  // namespace xgrad

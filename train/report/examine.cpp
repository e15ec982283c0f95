#include <xgrad/train/report/examine.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <xgrad/data/text/example_text.hpp>
#include <xgrad/train/config/precision.hpp>
#include <xgrad/train/inspect/attention_picture.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/predict/loaded_model.hpp>
#include <xgrad/train/report/html.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kExamples = 1000;
constexpr std::size_t kSamples = 8;       // right ones and wrong ones
constexpr std::size_t kMostClasses = 40;  // largest confusion matrix that is readable
constexpr std::size_t kMostNumbers = 32;  // of a prediction

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
  const auto test = loaded.task->dataset(Split::test);
  Examination found;
  found.step = source.checkpoint.step;
  found.arithmetic = arithmetic_of(source.checkpoint);
  found.examples = std::min(kExamples, test->size());
  found.forced = shape.output == OutputKind::generated;
  found.judged = shape.target != TargetKind::numbers;
  if (shape.target == TargetKind::classes && shape.classes <= kMostClasses) {
    for (std::size_t c = 0; c < shape.classes; ++c) {
      found.names.push_back(class_text(std::int32_t(c), shape));
    }
    found.classes = ClassReport(shape.classes);
  }
  const Example mapped = look(loaded, *test, train.batch, found);
  if (attended_tokens(mapped, shape, source.config.model.patch) <= kMostMapped) {
    put_input(mapped, shape, found.mapped);
    if (found.forced) found.mapped.targets = {target_text(mapped, shape)};
    found.maps = attention_maps(*loaded.model, loaded.parameters, collate({mapped}, shape));
  }
  for (const Parameter<T>& p : loaded.parameters) {
    if (p.name != "embedding.token.weight") continue;
    found.embeddings = map_embeddings(cast<double>(p.value()), shape, *test, found.examples);
  }
  if (heads) {
    found.heads = study_attention(*loaded.model, loaded.parameters, *test, shape,
                                  make_objective(train, shape), train.batch, found.examples);
  }
  found.ceiling = loaded.task->ceiling(Split::test);
  const std::size_t seen = source.checkpoint.step * train.batch * train.accumulate;
  found.baseline = measure_baseline(*loaded.task, std::max(kExamples, seen));
  found.rules = loaded.task->rules();
  return found;
}

}  // namespace

Examination examine(const std::string& directory, bool heads) {
  const FoundRun source = find_run(directory);
  return with_precision(source.config, [&]<class T>() { return examine<T>(source, heads); });
}

}  // namespace xgrad

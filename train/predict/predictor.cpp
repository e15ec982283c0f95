#include <xgrad/train/predict/predictor.hpp>

#include <algorithm>
#include <cmath>
#include <map>

#include <xgrad/autograd/portable_math.hpp>
#include <xgrad/autograd/random.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/example_text.hpp>

namespace xgrad {

namespace {

// The prediction for an example, from its logits (rows, K). For outputs that the model generates,
// see read_generated().
template <class T>
Prediction read(const Example& example, Tensor<T> logits, const TaskShape& shape) {
  Prediction prediction;
  const auto add = [&](const std::string& label, double probability) {
    prediction.labels.push_back(label);
    prediction.probabilities.push_back(probability);
  };
  const bool multi_label = !shape.class_names.empty();
  prediction.multi_label = shape.target == TargetKind::binary && multi_label;
  const std::size_t classes = shape.classes;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const std::size_t row = i / classes, k = i % classes;
    const T* const at = logits.data() + i;
    double x = double(*at);
    if (shape.target == TargetKind::classes) {
      const bool wanted = row >= example.targets.size() || example.targets[row] != kIgnore;
      if (k > 0 || !wanted) continue;
      const T* const best = std::max_element(at, at + classes);
      double sum = 0;
      for (std::size_t c = 0; c < classes; ++c) sum += portable::exp(double(at[c]) - *best);
      add(class_text(std::int32_t(best - at), shape), 1 / sum);
    } else if (i < example.values.size() && std::isnan(example.values[i])) {
      continue;
    } else if (shape.target == TargetKind::binary) {
      add(answer_text(multi_label || x > 0, k, shape),
          1 / (1 + portable::exp(multi_label ? -x : -std::abs(x))));
    } else {
      if (!shape.value_mean.empty()) x = x * shape.value_deviation[k] + shape.value_mean[k];
      prediction.numbers.push_back(x);
    }
  }
  prediction.logits = std::move(logits);
  return prediction;
}

// Cuts the logits of one example out of the logits of a batch.
template <class T>
Tensor<T> part_of(const Tensor<T>& logits, std::size_t sample) {
  Tensor<T> part = empty<T>(Shape(logits.shape().begin() + 1, logits.shape().end()));
  std::copy_n(logits.data() + sample * part.size(), part.size(), part.data());
  return part;
}

std::vector<std::string> labels_of(const std::vector<std::int32_t>& classes,
                                   const TaskShape& shape) {
  std::vector<std::string> labels;
  for (const std::int32_t c : classes) {
    if (std::size_t(c) + 1 < shape.classes) labels.push_back(class_text(c, shape));
  }
  return labels;
}

// The prediction of an output that the model generated.
template <class T>
Prediction read_generated(Generated<T> output, const TaskShape& shape) {
  Prediction prediction;
  prediction.labels = labels_of(output.classes, shape);
  for (std::size_t i = 0; i < prediction.labels.size(); ++i) {
    const T* row = output.logits.data() + i * shape.classes;
    const auto log_p = log_probabilities(row, shape.classes);
    prediction.probabilities.push_back(portable::exp(log_p[std::size_t(output.classes[i])]));
  }
  prediction.log_probability = output.log_probability;
  prediction.logits = std::move(output.logits);
  return prediction;
}

// Decodes the outputs of a batch of examples greedily.
template <class T>
std::vector<Generated<T>> decode(const LoadedModel<T>& loaded,
                                 const std::vector<Example>& examples) {
  const Batch batch = collate(examples, loaded.shape);
  const auto decoding = loaded.model->decode(BatchInput<T>(batch).input());
  return generate(*decoding, std::int32_t(loaded.shape.classes) - 1, loaded.shape.max_outputs);
}

// The classes of a line, and the end class.
std::vector<std::int32_t> parse_output(const std::string& line, const TaskShape& shape) {
  TaskShape tokens;
  tokens.vocabulary = shape.classes - 1;
  tokens.max_length = shape.max_outputs - 1;
  tokens.token_names = shape.class_names;
  if (!tokens.token_names.empty()) tokens.token_names.pop_back();
  std::vector<std::int32_t> classes;
  if (line.find_first_not_of(" \t") != line.npos) classes = parse_tokens("outputs", line, tokens);
  classes.push_back(std::int32_t(shape.classes) - 1);
  return classes;
}

template <class T>
Tensor<T> logits_of(const LoadedModel<T>& loaded, const std::vector<Example>& examples) {
  const Batch batch = collate(examples, loaded.shape);
  return (*loaded.model)(BatchInput<T>(batch).input(), Context{}).value();
}

// The output of one example by beam search.
template <class T>
Prediction search(const LoadedModel<T>& loaded, Example example, const BeamOptions& beam) {
  const TaskShape& shape = loaded.shape;
  const Batch batch = collate({example}, shape);
  const auto decoding = loaded.model->decode(BatchInput<T>(batch).input());
  const auto found =
      beam_search(*decoding, std::int32_t(shape.classes) - 1, shape.max_outputs, beam);
  example.targets = found[0].classes;
  Prediction prediction = read_generated<T>(
      {found[0].classes, found[0].log_probability, part_of(logits_of(loaded, {example}), 0)},
      shape);
  for (const Hypothesis& one : found) {
    prediction.beam.push_back({labels_of(one.classes, shape), one.log_probability});
  }
  return prediction;
}

// Predicts for examples of the same length.
template <class T>
std::vector<Prediction> predict(const LoadedModel<T>& loaded, const std::vector<Example>& examples,
                                const std::optional<BeamOptions>& beam) {
  std::vector<Prediction> predictions;
  if (beam) {
    for (const Example& example : examples) predictions.push_back(search(loaded, example, *beam));
  } else if (loaded.shape.output == OutputKind::generated) {
    for (Generated<T>& output : decode(loaded, examples)) {
      predictions.push_back(read_generated(std::move(output), loaded.shape));
    }
  } else {
    const Tensor<T> logits = logits_of(loaded, examples);
    for (std::size_t i = 0; i < examples.size(); ++i) {
      predictions.push_back(read(examples[i], part_of(logits, i), loaded.shape));
    }
  }
  return predictions;
}

}  // namespace

template <class T>
void set_outputs(const LoadedModel<T>& loaded, const std::vector<std::string>& outputs,
                 std::vector<Example>& examples) {
  const bool generates = loaded.shape.output == OutputKind::generated;
  check<ConfigError>(generates || outputs.empty(),
                     "outputs: need a model that reads its outputs, with model.kind = "
                     "\"encoder_decoder\"");
  if (!generates) return;
  check<DataError>(outputs.empty() || outputs.size() == examples.size(),
                   "outputs: expected one line for each of the ", examples.size(), " inputs, got ",
                   outputs.size());
  for (std::size_t i = 0; i < examples.size(); ++i) {
    // One by one, since padding would change the order of additions.
    examples[i].targets = outputs.empty() ? decode(loaded, {examples[i]})[0].classes
                                          : parse_output(outputs[i], loaded.shape);
  }
}

template <class T>
std::int32_t sample(const T* logits, std::size_t classes, double temperature, double u) {
  static_assert(kUnknownId == 0);
  const std::size_t best = std::size_t(std::max_element(logits + 1, logits + classes) - logits);
  if (temperature == 0) return std::int32_t(best);
  std::vector<double> cumulative(classes, 0);
  for (std::size_t c = 1; c < classes; ++c) {
    cumulative[c] =
        cumulative[c - 1] + portable::exp((double(logits[c]) - double(logits[best])) / temperature);
  }
  const auto found = std::upper_bound(cumulative.begin(), cumulative.end(), u * cumulative.back());
  return found == cumulative.end() ? std::int32_t(best) : std::int32_t(found - cumulative.begin());
}

#define XGRAD_INSTANTIATE(T)                                                        \
  template std::int32_t sample(const T*, std::size_t, double, double);              \
  template void set_outputs(const LoadedModel<T>&, const std::vector<std::string>&, \
                            std::vector<Example>&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

std::vector<FoundRun> find_runs(const std::vector<std::string>& paths,
                                const std::vector<std::string>& overrides, Take take) {
  std::vector<FoundRun> runs;
  for (const std::string& path : paths) runs.push_back(find_run(path, overrides, take));
  return runs;
}

std::shared_ptr<const AnyModel> load_model(std::span<const FoundRun> sources) {
  const FoundRun& first = sources.front();
  return with_precision(first.config, [&]<class T>() {
    return std::make_shared<const AnyModel>(AnyModel{std::make_unique<const LoadedModel<T>>(
        sources, make_task(first.config, &first.checkpoint))});
  });
}

Predictor::Predictor(const std::string& run, std::optional<BeamOptions> beam,
                     const std::string& precision)
    : Predictor(find_runs({run}, in_precision(precision)), beam) {}

Predictor::Predictor(std::span<const FoundRun> found, std::optional<BeamOptions> beam)
    : model_(load_model(found)),
      beam_(beam),
      alone_(std::ranges::any_of(
          found, [](const FoundRun& run) { return run.config.model.normalization == "batch"; })) {
  check<ConfigError>(!beam || shape().output == OutputKind::generated,
                     "a beam search needs a model that generates its output, with model.kind = "
                     "\"encoder_decoder\", not ",
                     found.front().config.model.kind);
}

const TaskShape& Predictor::shape() const {
  return model_->visit([](const auto& loaded) -> const TaskShape& { return loaded.shape; });
}

Example Predictor::parse(const std::string& line, std::size_t number) const {
  Example example = model_->visit([&](const auto& loaded) { return loaded.task->parse(line); });
  check_example(example, shape(), number);
  return example;
}

Prediction Predictor::operator()(const std::string& line) const {
  return std::move((*this)(std::vector<Example>{parse(line)})[0]);
}

// A batch holds only examples of equal length, because padding would change the order of additions.
std::vector<Prediction> Predictor::operator()(const std::vector<Example>& examples) const {
  std::map<std::size_t, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    alike[alone_ ? i : length_of(examples[i], shape())].push_back(i);
  }
  const NoGrad no_grad;
  std::vector<Prediction> predictions(examples.size());
  for (const auto& [length, numbers] : alike) {
    std::vector<Example> together;
    for (const std::size_t i : numbers) together.push_back(examples[i]);
    auto found =
        model_->visit([&](const auto& loaded) { return predict(loaded, together, beam_); });
    for (std::size_t i = 0; i < numbers.size(); ++i) predictions[numbers[i]] = std::move(found[i]);
  }
  return predictions;
}

TextGenerator::TextGenerator(const std::vector<std::string>& runs, Take take) {
  const std::vector<FoundRun> sources = find_runs(runs, {}, take);
  model_ = load_model(sources);
  for (const FoundRun& source : sources) {
    model_->visit([&](const auto& loaded) {
      check<ConfigError>(
          loaded.shape.next != NextToken::none, source.file, ": is a model for the task ",
          source.config.task,
          ", which is not to predict next tokens; generate needs one that is trained "
          "with task.labels = \"next\" (files) or task.predict = \"next\" (kjv)");
    });
    const std::string& kind = source.config.model.kind;
    check<ConfigError>(kind == "encoder", source.file, ": model.kind is ", kind,
                       "; generate needs an encoder");
  }
}

bool TextGenerator::generate(const std::string& beginning, std::size_t most,
                             const Sampling& sampling,
                             const std::function<void(const std::string&)>& say) const {
  return model_->visit([&]<class T>(const LoadedModel<T>& loaded) {
    std::vector<std::int32_t> text = loaded.task->parse(beginning).ids;
    const Rng rng = Rng(sampling.seed) / "generate";
    const std::size_t longest = loaded.shape.max_length;
    std::size_t begin = 0;
    std::unique_ptr<Decoding<T>> decoding;
    const auto read_last = [&](std::size_t count) {
      begin = text.size() - std::min(text.size(), count);
      Ids ids = empty<std::int32_t>({1, text.size() - begin});
      std::copy(text.begin() + std::ptrdiff_t(begin), text.end(), ids.data());
      ModelInput<T> input;
      input.ids = &ids;
      decoding = loaded.model->decode(input);
    };
    read_last(longest);
    for (std::size_t added = 0; added < most; ++added) {
      const std::int32_t next = sample(decoding->logits().data(), loaded.shape.classes,
                                       sampling.temperature, rng.uniform(text.size()));
      if (next == kEndId) return true;
      const bool first_word = text.size() == 1 && loaded.shape.next == NextToken::word;
      say(loaded.task->token_text(next).substr(first_word));  // no space before it
      text.push_back(next);
      if (text.size() - begin <= longest) {
        decoding->append({next});
      } else {
        read_last(std::max<std::size_t>(1, longest / 2));
      }
    }
    return false;
  });
}

}  // namespace xgrad

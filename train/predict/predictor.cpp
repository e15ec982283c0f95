#include <xgrad/train/predict/predictor.hpp>

#include <algorithm>
#include <cmath>
#include <map>

#include <xgrad/data/text/example_text.hpp>
#include <xgrad/train/config/precision.hpp>
#include <xgrad/train/predict/loaded_model.hpp>
#include <xgrad/train/predict/outputs.hpp>

namespace xgrad {

namespace {

// Adds labels and probabilities, or numbers, from the logits (rows, K) of an example to a
// prediction. Outputs that the model generates are read by read_generated() instead.
template <class T>
class Reader {
 public:
  Reader(const Example& example, const TaskShape& shape, Prediction& prediction)
      : example_(example), shape_(shape), prediction_(prediction) {}

  void read(const T* logits, std::size_t rows) {
    for (std::size_t row = 0; row < rows; ++row) {
      const T* of_row = logits + row * shape_.classes;
      if (shape_.target != TargetKind::classes) {
        read_values(of_row, row * shape_.classes);
      } else if (row >= example_.targets.size() || example_.targets[row] != kIgnore) {
        read_class(of_row);
      }
    }
  }

 private:
  void read_class(const T* logits) {
    const std::size_t count = shape_.classes;
    const auto best = std::size_t(std::max_element(logits, logits + count) - logits);
    double sum = 0;
    for (std::size_t k = 0; k < count; ++k) sum += std::exp(double(logits[k]) - logits[best]);
    prediction_.labels.push_back(class_text(std::int32_t(best), shape_));
    prediction_.probabilities.push_back(1 / sum);
  }

  void read_values(const T* logits, std::size_t first) {
    for (std::size_t k = 0; k < shape_.classes; ++k) {
      const std::size_t i = first + k;
      if (i < example_.values.size() && std::isnan(example_.values[i])) continue;
      double x = double(logits[k]);
      if (shape_.target == TargetKind::binary) {
        read_answer(x, k);
        continue;
      }
      if (!shape_.value_mean.empty()) x = x * shape_.value_deviation[k] + shape_.value_mean[k];
      prediction_.numbers.push_back(x);
    }
  }

  void read_answer(double x, std::size_t number) {
    prediction_.multi_label = !shape_.class_names.empty();
    prediction_.labels.push_back(answer_text(prediction_.multi_label || x > 0, number, shape_));
    prediction_.probabilities.push_back(
        1 / (1 + std::exp(prediction_.multi_label ? -x : -std::abs(x))));
  }

  const Example& example_;
  const TaskShape& shape_;
  Prediction& prediction_;
};

// Cuts the logits of one example out of those of a batch.
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
    const auto chosen = std::size_t(output.classes[i]);
    prediction.probabilities.push_back(std::exp(log_probabilities(row, shape.classes)[chosen]));
  }
  prediction.log_probability = output.log_probability;
  prediction.logits = std::move(output.logits);
  return prediction;
}

}  // namespace

class Predictor::Model {
 public:
  virtual ~Model() = default;
  virtual const Task& task() const = 0;
  virtual const TaskShape& shape() const = 0;
  virtual std::vector<Prediction> predict(const std::vector<Example>& examples) const = 0;
};

namespace {

template <class T>
class ModelOf final : public Predictor::Model {
 public:
  ModelOf(const FoundRun& source, std::optional<BeamOptions> beam)
      : loaded_(source), beam_(beam), alone_(source.config.model.normalization == "batch") {
    check<ConfigError>(!beam || shape().output == OutputKind::generated,
                       "a beam search needs a model that generates its output, with model.kind = "
                       "\"encoder_decoder\", not ",
                       source.config.model.kind);
  }

  const Task& task() const override { return *loaded_.task; }
  const TaskShape& shape() const override { return loaded_.shape; }

  // Batches only examples of equal length: padding would change the order of additions.
  std::vector<Prediction> predict(const std::vector<Example>& examples) const override {
    std::map<std::size_t, std::vector<std::size_t>> alike;
    for (std::size_t i = 0; i < examples.size(); ++i) {
      alike[alone_ ? i : length_of(examples[i], shape())].push_back(i);
    }
    const NoGrad no_grad;
    std::vector<Prediction> predictions(examples.size());
    for (const auto& [length, numbers] : alike) {
      std::vector<Example> together;
      for (const std::size_t i : numbers) together.push_back(examples[i]);
      if (shape().output != OutputKind::generated) {
        const Batch batch = collate(together, shape());
        const Tensor<T> logits = (*loaded_.model)(BatchInput<T>(batch).input(), Context{}).value();
        for (std::size_t sample = 0; sample < numbers.size(); ++sample) {
          predictions[numbers[sample]] = read(together[sample], part_of(logits, sample));
        }
        continue;
      }
      std::vector<Prediction> generated = beam_ ? search(together) : written(together);
      for (std::size_t sample = 0; sample < numbers.size(); ++sample) {
        predictions[numbers[sample]] = std::move(generated[sample]);
      }
    }
    return predictions;
  }

 private:
  Prediction read(const Example& example, Tensor<T> logits) const {
    Prediction prediction;
    Reader<T>(example, shape(), prediction).read(logits.data(), logits.size() / shape().classes);
    prediction.logits = std::move(logits);
    return prediction;
  }

  // Outputs by greedy decoding.
  std::vector<Prediction> written(const std::vector<Example>& examples) const {
    std::vector<Prediction> predictions;
    for (Generated<T>& output : decode(*loaded_.model, examples, shape())) {
      predictions.push_back(read_generated(std::move(output), shape()));
    }
    return predictions;
  }

  // Outputs by beam search.
  std::vector<Prediction> search(const std::vector<Example>& examples) const {
    std::vector<Prediction> predictions;
    for (Example example : examples) {
      Batch batch = collate({example}, shape());
      const auto decoding = start_outputs(*loaded_.model, BatchInput<T>(batch).input(), 1);
      const auto end = std::int32_t(shape().classes) - 1;
      const auto found = beam_search(*decoding, end, shape().max_outputs, *beam_);
      example.targets = found[0].classes;
      batch = collate({example}, shape());
      const Tensor<T> logits = (*loaded_.model)(BatchInput<T>(batch).input(), Context{}).value();
      predictions.push_back(read_generated<T>(
          {found[0].classes, found[0].log_probability, part_of(logits, 0)}, shape()));
      for (const Hypothesis& one : found) {
        predictions.back().beam.push_back({labels_of(one.classes, shape()), one.log_probability});
      }
    }
    return predictions;
  }

  LoadedModel<T> loaded_;
  std::optional<BeamOptions> beam_;
  bool alone_;  // predict alone: other examples in the batch would change the result
};

}  // namespace

Predictor::Predictor(const std::string& run, std::optional<BeamOptions> beam,
                     const std::string& precision)
    : Predictor(find_run_in(precision, run), beam) {}

Predictor::Predictor(const FoundRun& found, std::optional<BeamOptions> beam) {
  model_ = with_precision(found.config, [&]<class T>() -> std::unique_ptr<const Model> {
    return std::make_unique<ModelOf<T>>(found, beam);
  });
}

Predictor::~Predictor() = default;
Predictor::Predictor(Predictor&&) noexcept = default;
Predictor& Predictor::operator=(Predictor&&) noexcept = default;

const TaskShape& Predictor::shape() const {
  return model_->shape();
}

Example Predictor::parse(const std::string& line, std::size_t number) const {
  Example example = model_->task().parse(line);
  check_example(example, shape(), number);
  return example;
}

Prediction Predictor::operator()(const std::string& line) const {
  return std::move((*this)(std::vector<Example>{parse(line)})[0]);
}

std::vector<Prediction> Predictor::operator()(const std::vector<Example>& examples) const {
  return model_->predict(examples);
}

}  // namespace xgrad

#include <xgrad/train/predict/predictor.hpp>

#include <algorithm>
#include <cmath>
#include <map>

#include <xgrad/data/text/example_text.hpp>
#include <xgrad/layers/models/generate.hpp>
#include <xgrad/train/config/precision.hpp>
#include <xgrad/train/predict/loaded_model.hpp>

namespace xgrad {

namespace {

// Adds labels and probabilities, or numbers, from the logits (rows, K) of an example to a
// prediction.
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
        if (!read_class(of_row)) return;
      }
    }
  }

 private:
  // Returns false at the end of a generated output.
  bool read_class(const T* logits) {
    const std::size_t count = shape_.classes;
    const auto best = std::size_t(std::max_element(logits, logits + count) - logits);
    if (shape_.output == OutputKind::generated && best + 1 == count) return false;
    double sum = 0;
    for (std::size_t k = 0; k < count; ++k) sum += std::exp(double(logits[k]) - logits[best]);
    prediction_.labels.push_back(class_text(std::int32_t(best), shape_));
    prediction_.probabilities.push_back(1 / sum);
    return true;
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
  explicit ModelOf(const FoundRun& source)
      : loaded_(source),
        alone_(shape().output == OutputKind::generated ||
               source.config.model.normalization == "batch") {}

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
      const Tensor<T> logits = outputs(std::move(together)).value();
      for (std::size_t sample = 0; sample < numbers.size(); ++sample) {
        const std::size_t i = numbers[sample];
        Tensor<T> part = part_of(logits, sample);
        Reader<T>(examples[i], shape(), predictions[i])
            .read(part.data(), part.size() / shape().classes);
        predictions[i].logits = std::move(part);
      }
    }
    return predictions;
  }

 private:
  // For a task with generated outputs, these are the logits from which each class was chosen.
  Variable<T> outputs(std::vector<Example> examples) const {
    Batch batch = collate(examples, shape());
    if (shape().output == OutputKind::generated) {
      examples[0].targets = generate(*loaded_.model, BatchInput<T>(batch).input(), 1,
                                     std::int32_t(shape().classes) - 1, shape().max_outputs)[0];
      batch = collate(examples, shape());
    }
    return (*loaded_.model)(BatchInput<T>(batch).input(), Context{});
  }

  LoadedModel<T> loaded_;
  bool alone_;  // predict alone: other examples in the batch would change the result
};

}  // namespace

Predictor::Predictor(const std::string& run) {
  const FoundRun source = find_run(run);
  model_ = with_precision(source.config, [&]<class T>() -> std::unique_ptr<const Model> {
    return std::make_unique<ModelOf<T>>(source);
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

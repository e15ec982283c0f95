#include <xgrad/train/report/examine.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <xgrad/autograd/scalar.hpp>
#include <xgrad/data/text/example_text.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/precision.hpp>
#include <xgrad/train/inspect/attention_picture.hpp>
#include <xgrad/train/report/html.hpp>
#include <xgrad/train/weights/trained_model.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kExamples = 1000;
constexpr std::size_t kSamples = 8;       // right ones and wrong ones
constexpr std::size_t kMostClasses = 40;  // largest confusion matrix that is readable

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

// Evaluates a model example by example.
template <class T>
class Examiner {
 public:
  Examiner(const Config& config, const Checkpoint& checkpoint, const Task& task)
      : config_(config),
        checkpoint_(checkpoint),
        task_(task),
        trained_(config, checkpoint, task.shape()),
        shape_(trained_.shape),
        test_(task.dataset(Split::test)),
        token_classes_(shape_) {}

  Examination examine(const ExamineOptions& options) {
    result_.examples = std::min(kExamples, test_->size());
    result_.forced = shape_.output == OutputKind::generated;
    count_classes();
    const NoGrad no_grad;
    for (std::size_t first = 0; first < result_.examples; first += config_.train.batch) {
      look(first, std::min(result_.examples, first + config_.train.batch));
    }
    if (mapped_) map_one();
    for (const Parameter<T>& p : trained_.parameters) {
      if (p.name != "embedding.token.weight") continue;
      result_.embeddings = token_classes_.map(cast<double>(p.value()));
    }
    if (options.heads) {
      result_.heads = study_attention(*trained_.model, trained_.parameters, *test_, shape_,
                                      make_objective(config_.train, shape_), config_.train.batch,
                                      result_.examples);
    }
    result_.ceiling = task_.ceiling(Split::test);
    const std::size_t seen = checkpoint_.step * config_.train.batch * config_.train.accumulate;
    result_.baseline = measure_baseline(task_, std::max(kExamples, seen));
    result_.rules = options.rules ? *options.rules : task_.rules();
    return std::move(result_);
  }

 private:
  void count_classes() {
    if (shape_.target != TargetKind::classes || shape_.classes > kMostClasses) return;
    for (std::size_t c = 0; c < shape_.classes; ++c) {
      result_.confusion.classes.push_back(class_text(std::int32_t(c), shape_));
    }
    result_.confusion.counts.assign(shape_.classes * shape_.classes, 0);
  }

  void look(std::size_t begin, std::size_t end) {
    std::vector<Example> examples;
    for (std::size_t i = begin; i < end; ++i) examples.push_back(test_->get(0, i));
    const Batch batch = collate(examples, shape_);
    const Tensor<T> outputs = (*trained_.model)(BatchInput<T>(batch).input(), Context{}).value();
    const std::size_t row = outputs.size() / examples.size();
    for (std::size_t i = 0; i < examples.size(); ++i) {
      keep(examples[i], outputs.data() + i * row, row);
      token_classes_.add(examples[i]);
    }
  }

  void judge_classes(const Example& example, const T* outputs, std::size_t count, Sample& sample) {
    for (std::size_t t = 0; t < example.targets.size(); ++t) {
      const std::int32_t target = example.targets[t];
      if ((t + 1) * shape_.classes > count) break;
      const T* logits = outputs + t * shape_.classes;
      const auto said = std::int32_t(std::max_element(logits, logits + shape_.classes) - logits);
      sample.targets.push_back(class_text(target, shape_));
      sample.predictions.push_back(class_text(target == kIgnore ? kIgnore : said, shape_));
      if (target == kIgnore) continue;
      sample.right = sample.right && said == target;
      if (result_.confusion.counts.empty()) continue;
      ++result_.confusion.counts[std::size_t(target) * shape_.classes + std::size_t(said)];
    }
  }

  void judge_answers(const Example& example, const T* outputs, Sample& sample) const {
    for (std::size_t i = 0; i < example.values.size(); ++i) {
      if (std::isnan(example.values[i])) continue;
      const bool yes = example.values[i] > 0.5f, said = outputs[i] > 0;
      sample.targets.push_back(answer_text(yes, i % shape_.classes, shape_));
      sample.predictions.push_back(answer_text(said, i % shape_.classes, shape_));
      sample.right = sample.right && said == yes;
    }
  }

  void keep(const Example& example, const T* outputs, std::size_t count) {
    Sample sample = blank(example);
    result_.judged = shape_.target != TargetKind::numbers;
    sample.right = true;
    if (shape_.target == TargetKind::classes) judge_classes(example, outputs, count, sample);
    if (shape_.target == TargetKind::binary) judge_answers(example, outputs, sample);
    auto& kept = sample.right ? result_.right : result_.wrong;
    if (kept.size() >= kSamples) return;
    if (!result_.judged) {
      sample.targets.push_back(target_text(example, shape_));
      for (std::size_t i = 0; i < std::min<std::size_t>(count, 32); ++i) {
        sample.predictions.push_back(fmt::format("{:.4g}", double(outputs[i])));
      }
    }
    if (shape_.input == InputKind::image) sample.picture = picture_of(example, shape_);
    kept.push_back(std::move(sample));
    if (!mapped_) mapped_ = example;
  }

  Sample blank(const Example& example) const {
    Sample sample;
    if (shape_.input != InputKind::image) sample.input = input_text(example, shape_);
    return sample;
  }

  void map_one() {
    const Example example = *mapped_;
    if (attended_tokens(example, shape_, config_.model.patch) > kMostMapped) return;
    result_.mapped = blank(example);
    if (result_.forced) result_.mapped.targets = {target_text(example, shape_)};
    if (shape_.input == InputKind::image) result_.mapped.picture = picture_of(example, shape_);
    result_.maps = attention_maps(*trained_.model, trained_.parameters, collate({example}, shape_));
  }

  const Config& config_;
  const Checkpoint& checkpoint_;
  const Task& task_;
  TrainedModel<T> trained_;
  const TaskShape& shape_;
  std::unique_ptr<Dataset> test_;
  TokenClasses token_classes_;
  std::optional<Example> mapped_;
  Examination result_;
};

}  // namespace

Examination examine(const std::string& directory, const Config& config,
                    const ExamineOptions& options) {
  const Checkpoint checkpoint = load_listed(latest_checkpoint(directory + "/checkpoints"));
  const std::shared_ptr<const Task> task =
      options.task ? options.task : make_task(config, &checkpoint);
  Examination result = with_precision(
      config, [&]<class T>() { return Examiner<T>(config, checkpoint, *task).examine(options); });
  result.step = checkpoint.step;
  if (const auto cpu = checkpoint.state.find("cpu"); cpu != checkpoint.state.end()) {
    if (const auto* name = std::get_if<std::string>(&cpu->second)) result.cpu = *name;
  }
  return result;
}

}  // namespace xgrad

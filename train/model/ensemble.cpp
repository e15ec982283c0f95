#include <xgrad/train/model/ensemble.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/portable_math.hpp>
#include <xgrad/layers/models/generate.hpp>
#include <xgrad/train/model/build.hpp>

namespace xgrad {

namespace {

// log(mean of p / p of the first member) for each class, from each member's log p. It is exactly 0
// if all members are equal.
std::vector<double> above_first(const std::vector<std::vector<double>>& log_p) {
  std::vector<double> above(log_p[0].size());
  for (std::size_t c = 0; c < above.size(); ++c) {
    double largest = log_p[0][c], sum = 0;
    for (const auto& one : log_p) largest = std::max(largest, one[c]);
    for (const auto& one : log_p) sum += portable::exp(one[c] - largest);
    above[c] = largest - log_p[0][c] + portable::log(sum / double(log_p.size()));
  }
  return above;
}

// Turns the outputs of the first member for one target into the outputs of the ensemble. Logits of
// the mean are log(mean of p) plus any constant. The constant here gives exactly the first member's
// logits if all members are equal.
template <class T>
void average(TargetKind target, const std::vector<const T*>& rows, std::span<T> mean) {
  if (target == TargetKind::numbers) {
    double above = 0;
    for (const T* row : rows) above += double(*row) - double(mean[0]);
    mean[0] = T(double(mean[0]) + above / double(rows.size()));
    return;
  }
  const bool binary = target == TargetKind::binary;  // a softmax over the logit and 0
  std::vector<std::vector<double>> log_p;
  for (const T* row : rows) {
    const T answer[] = {*row, 0};
    log_p.push_back(log_probabilities(binary ? answer : row, binary ? 2 : mean.size()));
  }
  const std::vector<double> above = above_first(log_p);
  for (std::size_t c = 0; c < mean.size(); ++c) {
    mean[c] = T(double(mean[c]) + above[c] - (binary ? above[1] : 0));
  }
}

// Computes the outputs of the ensemble from the outputs of its members.
template <class T>
Tensor<T> mean_of(TargetKind target, const std::vector<const Tensor<T>*>& outputs) {
  Tensor<T> mean = *outputs[0];
  const std::size_t width = target == TargetKind::classes ? mean.shape().back() : 1;
  std::vector<const T*> rows(outputs.size());
  for (std::size_t i = 0; i < mean.size(); i += width) {
    for (std::size_t m = 0; m < rows.size(); ++m) rows[m] = outputs[m]->data() + i;
    average(target, rows, std::span(mean.data() + i, width));
  }
  return mean;
}

template <class T>
class EnsembleDecoding final : public Decoding<T> {
 public:
  explicit EnsembleDecoding(std::vector<std::unique_ptr<Decoding<T>>> members)
      : members_(std::move(members)) {
    average_logits();
  }
  void append(const std::vector<std::int32_t>& classes) override {
    for (const auto& member : members_) member->append(classes);
    average_logits();
  }
  void select(const std::vector<std::size_t>& rows) override {
    for (const auto& member : members_) member->select(rows);
    this->select_logits(rows);
  }

 private:
  void average_logits() {
    std::vector<const Tensor<T>*> logits;
    for (const auto& member : members_) logits.push_back(&member->logits());
    Tensor<T> mean = mean_of(TargetKind::classes, logits);
    mean.reshape(Shape{mean.shape()[0], 1, mean.shape()[1]});
    this->set_last(mean);
  }

  std::vector<std::unique_ptr<Decoding<T>>> members_;
};

template <class T>
class Ensemble final : public SequenceModel<T> {
 public:
  Ensemble(TargetKind target, std::vector<std::shared_ptr<const SequenceModel<T>>> members)
      : target_(target), members_(std::move(members)) {}

  Variable<T> operator()(const ModelInput<T>& input, const Context& context) const override {
    check<Error>(context.activations == nullptr, "an ensemble of ", members_.size(),
                 " models has no activations and no attention of its own; load one of its runs");
    const NoGrad no_grad;
    std::vector<Variable<T>> outputs;
    std::vector<const Tensor<T>*> values;
    for (const auto& member : members_) outputs.push_back((*member)(input, context));
    for (const Variable<T>& one : outputs) values.push_back(&one.value());
    return Variable<T>(mean_of(target_, values));
  }

  std::unique_ptr<Decoding<T>> decode(const ModelInput<T>& input) const override {
    std::vector<std::unique_ptr<Decoding<T>>> members;
    for (const auto& member : members_) members.push_back(member->decode(input));
    return std::make_unique<EnsembleDecoding<T>>(std::move(members));
  }

 private:
  TargetKind target_;
  std::vector<std::shared_ptr<const SequenceModel<T>>> members_;
};

// Names the first difference between the shapes of two tasks; empty if they are equal.
std::string difference(const TaskShape& a, const TaskShape& b) {
  using S = TaskShape;
  const auto same = [&](const auto... members) { return ((a.*members == b.*members) && ...); };
  if (!same(&S::vocabulary, &S::token_names)) return "vocabulary";
  if (!same(&S::target, &S::classes, &S::class_names)) return "classes";
  if (!same(&S::input, &S::max_length, &S::height, &S::width, &S::channels)) return "inputs";
  if (!same(&S::features, &S::graph)) return "inputs";
  if (!same(&S::output, &S::max_outputs, &S::next)) return "outputs";
  if (!same(&S::input_mean, &S::input_deviation)) return "mean and deviation of the inputs";
  return same(&S::value_mean, &S::value_deviation) ? "" : "mean and deviation of the targets";
}

}  // namespace

template <class T>
std::unique_ptr<SequenceModel<T>> make_ensemble(
    TargetKind target, std::vector<std::shared_ptr<const SequenceModel<T>>> members) {
  return std::make_unique<Ensemble<T>>(target, std::move(members));
}

void check_ensemble(std::span<const FoundRun> runs) {
  const FoundRun& first = runs.front();
  const TaskShape shape = make_task(first.config, &first.checkpoint)->shape();
  for (const FoundRun& run : runs.subspan(1)) {
    const auto need = [&](const std::string& key, const std::string& a, const std::string& b,
                          bool fits) {
      check<ConfigError>(fits, run.file, ": has ", key, " = ", b, ", but ", first.file, " has ", a,
                         "; an ensemble needs the same in all runs");
    };
    const Config &a = first.config, &b = run.config;
    need("task.name", a.task, b.task, a.task == b.task);
    for (const OptionSpec& option : find_task(a.task).options) {
      const OptionValue &own = a.task_options.at(option.name),
                        &other = b.task_options.at(option.name);
      need("task." + option.name, to_literal(own), to_literal(other), option.file || own == other);
    }
    const std::string &p = a.train.precision, &q = b.train.precision;
    need("train.precision", p, q, (p == "double") == (q == "double"));
    const std::string what = difference(shape, make_task(b, &run.checkpoint)->shape());
    check<ConfigError>(what.empty(), run.file, ": differs from ", first.file, " in its ", what,
                       "; an ensemble needs the same in all runs");
  }
}

#define XGRAD_INSTANTIATE(T)                                \
  template std::unique_ptr<SequenceModel<T>> make_ensemble( \
      TargetKind, std::vector<std::shared_ptr<const SequenceModel<T>>>);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

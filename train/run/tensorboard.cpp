#include <xgrad/train/run/tensorboard.hpp>

#include <xgrad/autograd/kernels/element.hpp>
#include <xgrad/autograd/scalar.hpp>
#include <xgrad/data/option_text.hpp>
#include <xgrad/train/config/keys.hpp>
#include <xgrad/train/inspect/attention_picture.hpp>

namespace xgrad {

namespace {

EventFile::Setting to_setting(const OptionValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return double(*integer);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  const auto* word = std::get_if<std::string>(&value);
  return word ? *word : to_literal(value);
}

// The settings that determine the result of a run.
std::vector<std::pair<std::string, EventFile::Setting>> settings(const Config& config) {
  std::vector<std::pair<std::string, EventFile::Setting>> all;
  for (const detail::ConfigKey& key : detail::config_keys()) {
    if (key.execution || key.section == "expect" || !detail::is_read(key, config)) continue;
    if (const auto value = key.get(config)) all.emplace_back(key.name(), to_setting(*value));
  }
  for (const auto& [name, value] : config.task_options) {
    all.emplace_back("task." + name, to_setting(value));
  }
  return all;
}

// Four leading spaces make a line of Markdown code.
std::string as_code(const std::string& text) {
  std::string code = "    ";
  for (const char c : text) code += c == '\n' ? std::string("\n    ") : std::string(1, c);
  return code;
}

}  // namespace

TensorBoard::TensorBoard(const Config& config, const Folder& directory, std::uint64_t step)
    : patch_(config.model.patch) {
  if (!config.log_tensorboard) return;
  file_ = std::make_unique<EventFile>(directory);
  go_back(step);
  file_->text(step, "config", as_code(to_toml(config)));
  file_->settings(settings(config), {"loss/validation", "loss/test"});
}

void TensorBoard::row(const MetricsRow& row) {
  if (!file_) return;
  std::vector<std::pair<std::string, double>> values;
  for (const auto& [name, value] : row.numbers) {
    if (name.ends_with("_se") || !is_finite_bits(value)) continue;
    values.emplace_back(row.split.empty() ? name : name + "/" + row.split, value);
  }
  file_->scalars(row.step, values);
}

template <class T>
void TensorBoard::histograms(std::uint64_t step, const Parameters<T>& parameters) {
  if (!file_) return;
  std::vector<std::pair<std::string, Histogram>> values;
  for (const Parameter<T>& p : parameters) {
    const Tensor<T>& weight = p.value();
    values.emplace_back("weights/" + p.name, histogram(weight.data(), weight.size()));
    if (!p.variable.has_grad()) continue;
    const Tensor<T>& gradient = p.variable.grad();
    values.emplace_back("gradients/" + p.name, histogram(gradient.data(), gradient.size()));
  }
  file_->histograms(step, values);
}

template <class T>
void TensorBoard::attention(std::uint64_t step, const SequenceModel<T>& model,
                            const Parameters<T>& parameters, const Task& task) {
  if (!file_) return;
  const Example example = task.dataset(Split::validation)->get(0, 0);
  if (attended_tokens(example, task.shape(), patch_) > kMostMapped) return;
  const Batch batch = collate({example}, task.shape());
  std::vector<std::pair<std::string, Picture>> values;
  for (const AttentionMap& map : attention_maps(model, parameters, batch)) {
    values.emplace_back("attention/" + map.path, heads_picture(map));
  }
  if (!values.empty()) file_->images(step, values);
}

void TensorBoard::go_back(std::uint64_t step) {
  if (file_) file_->restart(step + 1);
}

void TensorBoard::finish() {
  if (file_) file_->finish();
}

#define XGRAD_INSTANTIATE(T)                                                   \
  template void TensorBoard::histograms(std::uint64_t, const Parameters<T>&);  \
  template void TensorBoard::attention(std::uint64_t, const SequenceModel<T>&, \
                                       const Parameters<T>&, const Task&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

#include <xgrad/train/logs/tensorboard.hpp>

#include <events.pb.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <limits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/tensor.hpp>
#include <xgrad/data/options.hpp>
#include <xgrad/storage/formats/little_endian.hpp>
#include <xgrad/storage/formats/png.hpp>
#include <xgrad/train/config/keys.hpp>
#include <xgrad/train/inspect/attention_study.hpp>

namespace xgrad {

using Event = events::Event;
using Value = events::Summary::Value;

// CRC-32C of each byte, by Castagnoli's polynomial in reverse order (RFC 3720, appendix B.4).
constexpr auto kCrc32c = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    table[i] = i;
    for (int bit = 0; bit < 8; ++bit) table[i] = table[i] >> 1 ^ (table[i] & 1) * 0x82f63b78u;
  }
  return table;
}();

// A file name that TensorBoard recognises. A counter distinguishes files that one process makes in
// the same second.
static std::string new_name() {
  static int number = 0;
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  return "events.out.tfevents." + std::to_string(std::time(nullptr)) + "." + host + "." +
         std::to_string(::getpid()) + "." + std::to_string(number++);
}

static const std::vector<double>& all_limits() {
  static const std::vector<double> limits = [] {
    std::vector<double> all{0, std::numeric_limits<double>::max()};
    for (double x = 1e-12; x < 1e20; x *= 1.1) all.push_back(x);
    for (std::size_t i = 1, n = all.size(); i < n; ++i) all.push_back(-all[i]);
    std::sort(all.begin(), all.end());
    return all;
  }();
  return limits;
}

static double now() {
  using Seconds = std::chrono::duration<double>;
  return Seconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

static Event event_of(std::uint64_t step) {
  Event event;
  event.set_wall_time(now());
  event.set_step(std::int64_t(step));
  return event;
}

static Value& add_value(Event& event, const std::string& tag, const std::string& plugin = "",
                        const std::string& content = "") {
  Value& value = *event.mutable_summary()->add_value();
  value.set_tag(tag);
  if (plugin.empty()) return value;
  events::Metadata::PluginData& data = *value.mutable_metadata()->mutable_plugin_data();
  data.set_plugin_name(plugin);
  data.set_content(content);
  return value;
}

// Four leading spaces make a line of Markdown code.
static std::string as_code(std::string text) {
  for (auto at = text.find('\n'); at != text.npos; at = text.find('\n', at + 1)) {
    text.insert(at + 1, "    ");
  }
  return "    " + text;
}

static void set(const OptionValue& from, events::HParamInfo& info, google::protobuf::Value& to) {
  const auto* integer = std::get_if<std::int64_t>(&from);
  const auto* number = std::get_if<double>(&from);
  const auto* word = std::get_if<std::string>(&from);
  if (const auto* truth = std::get_if<bool>(&from)) {
    info.set_type(events::HParamInfo::BOOL);
    to.set_bool_value(*truth);
  } else if (number || integer) {
    info.set_type(events::HParamInfo::FLOAT64);
    to.set_number_value(integer ? double(*integer) : *number);
  } else {
    info.set_type(events::HParamInfo::TEXT);
    to.set_string_value(word ? *word : to_literal(from));
  }
}

// The settings that determine the result of a run, and the tags of the scalars to compare runs by.
static void add_settings(const Config& config, Event& event) {
  events::HParamsPluginData experiment, start;
  const auto add = [&](const std::string& name, const OptionValue& value) {
    events::HParamInfo& info = *experiment.mutable_experiment()->add_hparam_infos();
    info.set_name(name);
    set(value, info, (*start.mutable_session_start_info()->mutable_hparams())[name]);
  };
  for (const detail::ConfigKey& key : detail::config_keys()) {
    if (!key.determines_result() || !detail::is_read(key, config)) continue;
    if (const auto value = key.get(config)) add(key.name(), *value);
  }
  for (const auto& [name, value] : config.task_options) add("task." + name, value);
  for (const char* metric : {"loss/validation", "loss/test"}) {
    experiment.mutable_experiment()->add_metric_infos()->mutable_name()->set_tag(metric);
  }
  start.mutable_session_start_info()->set_start_time_secs(now());
  add_value(event, "_hparams_/experiment", "hparams", experiment.SerializeAsString());
  add_value(event, "_hparams_/session_start_info", "hparams", start.SerializeAsString());
}

template <class T>
static void add_histogram(Event& event, const std::string& tag, const Tensor<T>& numbers) {
  const Histogram from = histogram(numbers.data(), numbers.size());
  events::Histogram& to = *add_value(event, tag).mutable_histo();
  to.set_min(from.min);
  to.set_max(from.max);
  to.set_num(double(numbers.size()));
  to.set_sum(from.sum);
  to.set_sum_squares(from.sum_squares);
  to.mutable_bucket_limit()->Add(from.limits.begin(), from.limits.end());
  to.mutable_bucket()->Add(from.counts.begin(), from.counts.end());
}

std::uint32_t masked_crc32c(const std::string& bytes) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char c : bytes) crc = crc >> 8 ^ kCrc32c[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return std::rotr(~crc, 15) + 0xa282ead8u;
}

template <class T>
Histogram histogram(const T* x, std::size_t count) {
  Histogram h;
  if (count == 0) return h;
  const std::vector<double>& limits = all_limits();
  std::vector<double> counts(limits.size(), 0);
  h.min = h.max = double(x[0]);
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = double(x[i]);
    h.min = std::min(h.min, value);
    h.max = std::max(h.max, value);
    h.sum += value;
    h.sum_squares += value * value;
    const auto bucket = std::upper_bound(limits.begin(), limits.end(), value) - limits.begin();
    ++counts[std::min(std::size_t(bucket), counts.size() - 1)];
  }
  const auto filled = [](double n) { return n > 0; };
  auto begin = std::find_if(counts.begin(), counts.end(), filled) - counts.begin();
  const auto end = counts.rend() - std::find_if(counts.rbegin(), counts.rend(), filled);
  if (begin > 0) --begin;  // the first bucket stays empty; its limit is the next one's lower limit
  h.limits.assign(limits.begin() + begin, limits.begin() + end);
  h.counts.assign(counts.begin() + begin, counts.begin() + end);
  return h;
}

TensorBoard::TensorBoard(const Config& config, const Folder& directory, std::uint64_t step)
    : patch_(config.model.patch) {
  if (!config.log_tensorboard) return;
  const std::string name = new_name();
  path_ = directory.path_of(name);
  file_.emplace(directory.open(name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND));
  Event first = event_of(0), text = event_of(step), settings = event_of(0);
  first.set_file_version("brain.Event:2");
  first.mutable_source_metadata()->set_writer("xgrad");
  append(first);
  go_back(step);
  events::Tensor& tensor = *add_value(text, "config", "text").mutable_tensor();
  tensor.set_dtype(events::Tensor::STRING);
  tensor.mutable_tensor_shape()->add_dim()->set_size(1);
  tensor.add_string_val(as_code(to_toml(config)));
  append(text);
  add_settings(config, settings);
  append(settings);
}

// A single call writes a record, so that readers never see part of one, however the run ends.
void TensorBoard::append(const Event& event) {
  const std::string text = event.SerializeAsString(), length = to_little_endian(text.size());
  const std::string record = length + to_little_endian(masked_crc32c(length), 4) + text +
                             to_little_endian(masked_crc32c(text), 4);
  const ssize_t written = ::write(*file_, record.data(), record.size());
  check<IoError>(written == ssize_t(record.size()), path_, ": cannot write: ",
                 written < 0 ? std::strerror(errno) : "only a part of a record fitted");
}

void TensorBoard::row(const MetricsRow& row) {
  if (!file_) return;
  Event event = event_of(row.step);
  for (const auto& [name, value] : row.numbers) {
    if (name.ends_with("_se") || !is_finite_bits(value)) continue;
    add_value(event, row.split.empty() ? name : name + "/" + row.split)
        .set_simple_value(float(value));
  }
  append(event);
}

template <class T>
void TensorBoard::histograms(std::uint64_t step, const Parameters<T>& parameters) {
  if (!file_) return;
  Event event = event_of(step);
  for (const Parameter<T>& p : parameters) {
    add_histogram(event, "weights/" + p.name, p.value());
    if (p.variable.has_grad()) add_histogram(event, "gradients/" + p.name, p.variable.grad());
  }
  append(event);
}

template <class T>
void TensorBoard::attention(std::uint64_t step, const SequenceModel<T>& model,
                            const Parameters<T>& parameters, const Task& task) {
  if (!file_) return;
  const Example example = task.dataset(Split::validation)->get(0, 0);
  if (attended_tokens(example, task.shape(), patch_) > kMostMapped) return;
  Event event = event_of(step);
  for (const AttentionMap& map :
       attention_maps(model, parameters, collate({example}, task.shape()))) {
    const Picture picture = heads_picture(map);
    events::Image& image = *add_value(event, "attention/" + map.path).mutable_image();
    image.set_width(std::int32_t(picture.width));
    image.set_height(std::int32_t(picture.height));
    image.set_colorspace(events::Image::RGB);
    image.set_encoded_image_string(to_png(picture));
  }
  if (event.has_summary()) append(event);
}

void TensorBoard::go_back(std::uint64_t step) {
  if (!file_) return;
  Event event = event_of(step + 1);
  event.mutable_session_log()->set_status(events::SessionLog::START);
  append(event);
}

void TensorBoard::finish() {
  if (!file_) return;
  events::HParamsPluginData end;
  end.mutable_session_end_info()->set_status(events::SessionEndInfo::SUCCESS);
  end.mutable_session_end_info()->set_end_time_secs(now());
  Event event = event_of(0);
  add_value(event, "_hparams_/session_end_info", "hparams", end.SerializeAsString());
  append(event);
}

#define XGRAD_INSTANTIATE(T)                                                   \
  template Histogram histogram(const T*, std::size_t);                         \
  template void TensorBoard::histograms(std::uint64_t, const Parameters<T>&);  \
  template void TensorBoard::attention(std::uint64_t, const SequenceModel<T>&, \
                                       const Parameters<T>&, const Task&);
XGRAD_FOR_EACH_TRAINING_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

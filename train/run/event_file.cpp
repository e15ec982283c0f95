#include <xgrad/train/run/event_file.hpp>

#include <events.pb.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

static_assert(std::endian::native == std::endian::little);

/// CRC-32C of each byte: remainders by Castagnoli's polynomial with bits in reverse order (RFC
/// 3720, appendix B.4).
constexpr auto kCrc32c = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    table[i] = i;
    for (int bit = 0; bit < 8; ++bit) table[i] = table[i] >> 1 ^ (table[i] & 1) * 0x82f63b78u;
  }
  return table;
}();

double now() {
  using Seconds = std::chrono::duration<double>;
  return Seconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

events::Event make(std::uint64_t step) {
  events::Event event;
  event.set_wall_time(now());
  event.set_step(std::int64_t(step));
  return event;
}

std::string file_name() {
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  // The number distinguishes files of one process and second.
  static int number = 0;
  return "events.out.tfevents." + std::to_string(std::int64_t(now())) + "." + host + "." +
         std::to_string(::getpid()) + "." + std::to_string(number++);
}

std::string word(std::uint32_t x) {
  return std::string(reinterpret_cast<const char*>(&x), sizeof x);
}

void describe(events::Summary::Value& value, const std::string& tag, const std::string& plugin,
              const std::string& content) {
  value.set_tag(tag);
  events::Metadata::PluginData& data = *value.mutable_metadata()->mutable_plugin_data();
  data.set_plugin_name(plugin);
  data.set_content(content);
}

void add_hparams(events::Event& event, const char* tag, const events::HParamsPluginData& data) {
  describe(*event.mutable_summary()->add_value(), tag, "hparams", data.SerializeAsString());
}

void copy(const Histogram& from, events::Histogram& to) {
  to.set_min(from.min);
  to.set_max(from.max);
  to.set_num(double(from.count));
  to.set_sum(from.sum);
  to.set_sum_squares(from.sum_squares);
  for (const double limit : from.limits) to.add_bucket_limit(limit);
  for (const double count : from.counts) to.add_bucket(count);
}

struct Describe {
  events::HParamInfo& info;
  google::protobuf::Value& value;
  void operator()(bool x) const {
    info.set_type(events::HParamInfo::BOOL);
    value.set_bool_value(x);
  }
  void operator()(double x) const {
    info.set_type(events::HParamInfo::FLOAT64);
    value.set_number_value(x);
  }
  void operator()(const std::string& x) const {
    info.set_type(events::HParamInfo::TEXT);
    value.set_string_value(x);
  }
};

}  // namespace

std::uint32_t masked_crc32c(const std::string& bytes) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char c : bytes) crc = crc >> 8 ^ kCrc32c[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

EventFile::EventFile(const Folder& directory) : EventFile(directory, file_name()) {}

EventFile::EventFile(const Folder& directory, const std::string& name)
    : path_(directory.path_of(name)),
      file_(directory.open(name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND)) {
  events::Event event = make(0);
  event.set_file_version("brain.Event:2");
  event.mutable_source_metadata()->set_writer("xgrad");
  append(event.SerializeAsString());
}

void EventFile::append(const std::string& event) {
  const std::uint64_t size = event.size();
  const std::string length(reinterpret_cast<const char*>(&size), sizeof size);
  const std::string record =
      length + word(masked_crc32c(length)) + event + word(masked_crc32c(event));
  // A single call, so that readers never see part of a record, however the run ends.
  const ssize_t written = ::write(file_, record.data(), record.size());
  check<IoError>(written == ssize_t(record.size()), path_, ": cannot write: ",
                 written < 0 ? std::strerror(errno) : "only a part of a record fitted");
}

void EventFile::restart(std::uint64_t step) {
  events::Event event = make(step);
  event.mutable_session_log()->set_status(events::SessionLog::START);
  append(event.SerializeAsString());
}

void EventFile::scalars(std::uint64_t step,
                        const std::vector<std::pair<std::string, double>>& values) {
  events::Event event = make(step);
  for (const auto& [tag, number] : values) {
    events::Summary::Value& value = *event.mutable_summary()->add_value();
    value.set_tag(tag);
    value.set_simple_value(float(number));
  }
  append(event.SerializeAsString());
}

void EventFile::histograms(std::uint64_t step,
                           const std::vector<std::pair<std::string, Histogram>>& values) {
  events::Event event = make(step);
  for (const auto& [tag, counted] : values) {
    events::Summary::Value& value = *event.mutable_summary()->add_value();
    value.set_tag(tag);
    copy(counted, *value.mutable_histo());
  }
  append(event.SerializeAsString());
}

void EventFile::images(std::uint64_t step,
                       const std::vector<std::pair<std::string, Picture>>& values) {
  events::Event event = make(step);
  for (const auto& [tag, picture] : values) {
    events::Summary::Value& value = *event.mutable_summary()->add_value();
    value.set_tag(tag);
    events::Image& image = *value.mutable_image();
    image.set_width(std::int32_t(picture.width));
    image.set_height(std::int32_t(picture.height));
    image.set_colorspace(events::Image::RGB);
    image.set_encoded_image_string(to_png(picture));
  }
  append(event.SerializeAsString());
}

void EventFile::text(std::uint64_t step, const std::string& tag, const std::string& markdown) {
  events::Event event = make(step);
  events::Summary::Value& value = *event.mutable_summary()->add_value();
  describe(value, tag, "text", "");
  events::Tensor& tensor = *value.mutable_tensor();
  tensor.set_dtype(events::Tensor::STRING);
  tensor.mutable_tensor_shape()->add_dim()->set_size(1);
  tensor.add_string_val(markdown);
  append(event.SerializeAsString());
}

void EventFile::settings(const std::vector<std::pair<std::string, Setting>>& settings,
                         const std::vector<std::string>& metrics) {
  events::HParamsPluginData experiment, start;
  for (const auto& [name, setting] : settings) {
    events::HParamInfo& info = *experiment.mutable_experiment()->add_hparam_infos();
    info.set_name(name);
    google::protobuf::Value& value = (*start.mutable_session_start_info()->mutable_hparams())[name];
    std::visit(Describe{info, value}, setting);
  }
  for (const std::string& metric : metrics) {
    experiment.mutable_experiment()->add_metric_infos()->mutable_name()->set_tag(metric);
  }
  start.mutable_session_start_info()->set_start_time_secs(now());
  events::Event event = make(0);
  add_hparams(event, "_hparams_/experiment", experiment);
  add_hparams(event, "_hparams_/session_start_info", start);
  append(event.SerializeAsString());
}

void EventFile::finish() {
  events::HParamsPluginData end;
  end.mutable_session_end_info()->set_status(events::SessionEndInfo::SUCCESS);
  end.mutable_session_end_info()->set_end_time_secs(now());
  events::Event event = make(0);
  add_hparams(event, "_hparams_/session_end_info", end);
  append(event.SerializeAsString());
}

}  // namespace xgrad

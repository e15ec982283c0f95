#include <xgrad/train/report/record.hpp>

#include <algorithm>
#include <filesystem>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/publish.hpp>

namespace xgrad {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kFailed = "failed: ";

std::string text_of(const std::string& path) {
  return fs::exists(path) ? read_file(path) : "";
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  if (end == text.npos) return "";
  const std::size_t before = text.rfind('\n', end);
  return text.substr(before == text.npos ? 0 : before + 1, end - before);
}

}  // namespace

const MetricsRow* RunRecord::last(const std::string& split) const {
  const auto found = std::find_if(rows.rbegin(), rows.rend(),
                                  [&](const MetricsRow& row) { return row.split == split; });
  return found == rows.rend() ? nullptr : &*found;
}

std::string failure_line(const std::string& message) {
  std::string line = std::string(kFailed) + message;
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

RunRecord read_run(const std::string& directory) {
  RunRecord run;
  run.path = directory;
  while (run.path.size() > 1 && run.path.back() == '/') run.path.pop_back();
  const std::string config = run.path + "/config.toml";
  check<IoError>(fs::exists(config), directory, " is not a run directory: it holds no config.toml");
  run.config_text = read_file(config);
  run.config = parse_config(run.config_text, config, {}, ConfigWriter::xgrad);
  run.rows = read_metrics(text_of(run.path + "/metrics.jsonl"));
  for (const MetricsRow& row : run.rows) run.last_step = std::max(run.last_step, row.step);
  const std::vector<MetricsRow> times = read_metrics(text_of(run.path + "/timing.jsonl"));
  if (!times.empty()) {
    run.seconds = times.back().number("seconds").value_or(0);
    run.rate = times.back().number("tokens_per_second").value_or(0);
  }
  const std::string end = last_line(text_of(run.path + "/log.txt"));
  if (run.last("test") != nullptr) {
    run.state = RunRecord::State::finished;
  } else if (end.starts_with(kFailed)) {
    run.state = RunRecord::State::failed;
    run.failure = end.substr(kFailed.size());
  }
  return run;
}

}  // namespace xgrad

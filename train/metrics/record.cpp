#include <xgrad/train/metrics/record.hpp>

#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/storage/disk/folder.hpp>

namespace xgrad {

namespace {

constexpr std::string_view kFailed = "failed: ";

std::string text_of(const Folder& folder, const std::string& name) {
  return folder.holds(name) ? folder.read(name) : "";
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
  const Folder folder(run.path);
  check<IoError>(folder.holds("config.toml"), directory,
                 " is not a run directory: it holds no config.toml");
  run.config_text = folder.read("config.toml");
  run.config =
      parse_config(run.config_text, folder.path_of("config.toml"), {}, ConfigWriter::xgrad);
  run.rows = read_metrics(text_of(folder, "metrics.jsonl"));
  for (const MetricsRow& row : run.rows) run.last_step = std::max(run.last_step, row.step);
  const std::vector<MetricsRow> times = read_metrics(text_of(folder, "timing.jsonl"));
  if (!times.empty()) {
    run.seconds = times.back().number("seconds").value_or(0);
    run.rate = times.back().number("tokens_per_second").value_or(0);
  }
  const std::string end = last_line(text_of(folder, "log.txt"));
  if (run.last("test") != nullptr) {
    run.state = RunRecord::State::finished;
  } else if (end.starts_with(kFailed)) {
    run.state = RunRecord::State::failed;
    run.failure = end.substr(kFailed.size());
  }
  return run;
}

}  // namespace xgrad

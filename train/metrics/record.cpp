#include <xgrad/train/metrics/record.hpp>

#include <algorithm>

#include <xgrad/storage/disk/folder.hpp>
#include <xgrad/storage/disk/lines.hpp>
#include <xgrad/train/checkpoint/find_run.hpp>
#include <xgrad/train/config/toml.hpp>

namespace xgrad {

namespace {

constexpr std::string_view kFailed = "failed: ";

// The last nonempty line.
std::string last_line(const Folder& folder, const std::string& name) {
  std::string last;
  if (!folder.holds(name)) return last;
  Lines lines(folder.input(name));
  for (std::string line; lines.next(line);) {
    if (!line.empty()) last.swap(line);
  }
  return last;
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

MetricsRow last_timing(const Folder& run) {
  const std::vector<MetricsRow> rows = read_metrics(run, "timing.jsonl");
  return rows.empty() ? MetricsRow() : rows.back();
}

RunRecord read_run(const std::string& directory) {
  RunRecord run;
  run.path = directory;
  while (run.path.size() > 1 && run.path.back() == '/') run.path.pop_back();
  const Folder folder(run.path);
  check_is_run(folder);
  run.config_text = folder.read("config.toml", detail::kMostConfigBytes);
  run.config =
      parse_config(run.config_text, folder.path_of("config.toml"), {}, ConfigWriter::xgrad);
  run.rows = read_metrics(folder, "metrics.jsonl");
  for (const MetricsRow& row : run.rows) run.last_step = std::max(run.last_step, row.step);
  const MetricsRow timing = last_timing(folder);
  run.seconds = timing.number("seconds").value_or(0);
  run.rate = timing.number("tokens_per_second").value_or(0);
  const std::string end = last_line(folder, "log.txt");
  if (run.last("test") != nullptr) {
    run.state = RunRecord::State::finished;
  } else if (end.starts_with(kFailed)) {
    run.state = RunRecord::State::failed;
    run.failure = end.substr(kFailed.size());
  }
  return run;
}

}  // namespace xgrad

#include <xgrad/train/logs/history.hpp>

#include <algorithm>
#include <filesystem>

#include <xgrad/storage/disk/folder.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/toml.hpp>

namespace xgrad {

namespace fs = std::filesystem;

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

const MetricsRow* RunHistory::last(const std::string& split) const {
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

RunHistory read_run(const std::string& directory) {
  RunHistory run;
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
    run.state = RunHistory::State::finished;
  } else if (end.starts_with(kFailed)) {
    run.state = RunHistory::State::failed;
    run.failure = end.substr(kFailed.size());
  }
  return run;
}

std::vector<RunHistory> read_runs(const std::vector<std::string>& directories) {
  std::vector<RunHistory> runs;
  std::vector<fs::path> paths;
  for (const std::string& directory : directories) {
    runs.push_back(read_run(directory));
    paths.push_back(fs::absolute(fs::path(directory) / "").lexically_normal().parent_path());
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    fs::path name = paths[i].filename(), above = paths[i].parent_path();
    const auto alike = [&](const fs::path& other) {
      return other != paths[i] && other.string().ends_with("/" + name.string());
    };
    while (above.has_filename() && std::any_of(paths.begin(), paths.end(), alike)) {
      name = above.filename() / name;
      above = above.parent_path();
    }
    runs[i].name = name.string();
  }
  return runs;
}

}  // namespace xgrad

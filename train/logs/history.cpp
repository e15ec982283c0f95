#include <xgrad/train/logs/history.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <xgrad/storage/disk/folder.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/toml.hpp>
#include <xgrad/train/metrics/metrics.hpp>

namespace xgrad {

namespace fs = std::filesystem;

using State = RunHistory::State;

constexpr std::string_view kFailed = "failed: ";

constexpr std::size_t kMostNamed = 3;  // maximum number of keys in a name

using Rows = std::vector<const MetricsRow*>;

// The mean of rows. `error` says whether to add the standard errors over the rows.
static MetricsRow mean_of(const Rows& rows, bool error) {
  MetricsRow mean{rows[0]->step, rows[0]->split, {}};
  for (const auto& [name, first] : rows[0]->numbers) {
    RatioMean over_runs;
    for (const MetricsRow* row : rows) {
      if (const auto value = row->number(name)) over_runs.add(*value, 1);
    }
    if (name.ends_with("_se") || over_runs.count() < double(rows.size())) continue;
    mean.numbers.emplace_back(name, over_runs.mean());
    if (error) mean.numbers.emplace_back(name + "_se", over_runs.standard_error());
  }
  return mean;
}

static bool has_several(const RunGroup& group) {
  return group.runs.size() > 1;
}

static void average(RunGroup& group, const std::string& split) {
  Rows last;
  std::map<std::uint64_t, Rows> at;  // step
  for (const RunHistory* run : group.averaged()) {
    if (run->last(split) == nullptr) continue;
    for (const MetricsRow& row : run->rows) {
      if (row.split == split && at[row.step].size() == last.size()) at[row.step].push_back(&row);
    }
    last.push_back(run->last(split));
  }
  const auto mean = [&](const Rows& rows) {
    return has_several(group) ? mean_of(rows, /*error=*/rows.size() > 1) : *rows[0];
  };
  if (MetricsRow& row = group.last[split]; !last.empty()) row = mean(last);
  std::vector<MetricsRow>& means = group.rows[split];
  for (const auto& [step, rows] : at) {
    if (rows.size() == last.size()) means.push_back(mean(rows));
  }
}

static void name(std::vector<RunGroup>& groups) {
  const auto settings = settings_of(groups);
  std::map<std::string, std::size_t> uses;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::string& name = groups[i].name;
    if (!has_several(groups[i])) {
      name = groups[i].runs[0].name;
    } else if (settings.size() <= kMostNamed) {
      std::vector<std::string> words;
      for (const auto& row : settings) words.push_back(row[0] + "=" + row[i + 1]);
      name = joined(words);
    }
    ++uses[name];
  }
  for (RunGroup& group : groups) {  // copies of runs have equal settings
    if (!has_several(group) || (!group.name.empty() && uses[group.name] == 1)) continue;
    group.name = fmt::format("{} and {} more", group.runs[0].name, group.runs.size() - 1);
  }
}

// The last nonempty line.
static std::string last_line(const Folder& folder, const std::string& name) {
  std::string last;
  if (!folder.holds(name)) return last;
  Lines lines(folder.input(name));
  for (std::string line; lines.next(line);) last = line.empty() ? last : line;
  return last;
}

const MetricsRow* RunHistory::last(const std::string& split) const {
  const auto test = std::ranges::find(rows.rbegin(), rows.rend(), "test", &MetricsRow::split);
  const auto found = std::find_if(rows.rbegin(), rows.rend(), [&](const MetricsRow& row) {
    const bool scored = test == rows.rend() || row.step <= test->step;
    return row.split == split && (scored || split != "validation");
  });
  return found == rows.rend() ? nullptr : &*found;
}

const char* to_string(State state) {
  return state == State::finished ? "finished" : state == State::failed ? "failed" : "unfinished";
}

std::string failure_line(const std::string& message) {
  std::string line = std::string(kFailed) + message;
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

std::string got_worse(const TrainConfig& train, const std::vector<MetricsRow>& rows,
                      std::uint64_t best_step) {
  std::optional<double> best, last, error;
  for (const MetricsRow& row : rows) {
    if (row.split != "validation") continue;
    last = row.number(train.best_metric);
    error = row.number(train.best_metric + "_se");
    if (row.step == best_step) best = last;
  }
  if (!best || !last || !error || std::abs(*last - *best) <= *error) return "";
  const std::string said =
      fmt::format("the last validation {} is {}, worse than {:.4f} at step {}", train.best_metric,
                  figure_text(*last, *error), *best, best_step);
  if (!train.keep_best) return said + "; train.keep_best=true would take the weights of that step";
  return said + "; the model has the weights of that step" +
         (train.patience > 0 ? "" : "; train.patience would end such a run earlier");
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
  const std::string file = folder.path_of("config.toml");
  run.config = parse_config(run.config_text, file, {}, ConfigWriter::xgrad);
  run.rows = read_metrics(folder, "metrics.jsonl");
  for (const MetricsRow& row : run.rows) run.last_step = std::max(run.last_step, row.step);
  for (const char* split : {"validation", "test"}) {
    if (const MetricsRow* row = run.last(split)) run.scored_step = row->step;
  }
  const MetricsRow timing = last_timing(folder);
  run.seconds = timing.number("seconds").value_or(0);
  run.rate = timing.number("tokens_per_second").value_or(0);
  const std::string end = last_line(folder, "log.txt");
  if (run.last("test") != nullptr) {
    run.state = State::finished;
  } else if (end.starts_with(kFailed)) {
    run.state = State::failed;
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

std::string RunGroup::state() const {
  std::vector<std::string> words;
  for (const State state : {State::finished, State::failed, State::unfinished}) {
    const auto n = std::ranges::count(runs, state, &RunHistory::state);
    const std::string count = has_several(*this) ? fmt::format("{} ", n) : "";
    if (n > 0) words.push_back(count + to_string(state));
  }
  return joined(words);
}

std::vector<const RunHistory*> RunGroup::averaged() const {
  std::vector<const RunHistory*> kept;
  for (const State state : {State::finished, State::unfinished, State::failed}) {
    for (const RunHistory& run : runs) {
      if (run.state == state) kept.push_back(&run);
    }
    if (!kept.empty()) break;
  }
  return kept;
}

std::vector<RunGroup> group_runs(const std::vector<RunHistory>& runs) {
  std::vector<RunGroup> groups;
  std::vector<std::string> configs;  // config of each group, without the seed
  for (const RunHistory& run : runs) {
    Config config = run.config;
    config.train.seed = 0;
    const std::string text = to_toml(config, false);
    const auto same_seed = [&](const RunHistory& other) {
      return other.config.train.seed == run.config.train.seed;
    };
    std::size_t i = 0;
    while (i < groups.size() &&
           (configs[i] != text || std::ranges::any_of(groups[i].runs, same_seed))) {
      ++i;
    }
    if (i == groups.size()) {
      groups.emplace_back();
      configs.push_back(text);
    }
    groups[i].runs.push_back(run);
  }
  for (RunGroup& group : groups) {
    for (const char* split : {"train", "validation", "test"}) average(group, split);
  }
  name(groups);
  return groups;
}

std::vector<std::vector<std::string>> settings_of(std::span<const RunGroup> groups) {
  std::vector<std::vector<std::string>> rows;
  const bool seeds = std::any_of(groups.begin(), groups.end(), has_several);
  for (std::size_t i = 1; i < groups.size(); ++i) {
    for (const auto& [key, before, after] :
         differences(groups[0].runs[0].config, groups[i].runs[0].config)) {
      if (seeds && key == "train.seed") continue;
      auto at = std::ranges::find(rows, key, [](const auto& row) { return row[0]; });
      if (at == rows.end()) {
        rows.emplace_back(groups.size() + 1, before);
        at = rows.end() - 1;
        at->front() = key;
      }
      (*at)[i + 1] = after;
    }
  }
  return rows;
}

}  // namespace xgrad

// The commands inspect, compare and report, which show what runs hold.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <xgrad/autograd/check.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/storage/formats/sha256.hpp>
#include <xgrad/text/amounts.hpp>
#include <xgrad/text/columns.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/inspect/gradcheck.hpp>
#include <xgrad/train/inspect/spectrum.hpp>
#include <xgrad/train/logs/history.hpp>
#include <xgrad/train/report/report.hpp>

namespace xgrad::commands {

namespace {

constexpr std::size_t kHashDigits = 16;  // shown of a SHA-256: enough to tell two tensors apart
constexpr std::size_t kMostText = 64;    // shown of a state, which may hold a whole vocabulary

template <class T>
void print_tensor(const std::string& name, const Tensor<T>& x) {
  const auto [low, high] = std::minmax_element(x.data(), x.data() + x.size());
  double squares = 0, least = 0, most = 0;
  for (const T element : x) squares += double(element) * double(element);
  if (x.size() > 0) least = double(*low), most = double(*high), squares /= double(x.size());
  const std::string_view bytes(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(T));
  fmt::print("{:<48} {:>14} {:>7} {:>11.4g} {:>11.4g} {:>11.4g}  {}\n", name, to_string(x.shape()),
             sizeof(T) == 4 ? "float" : "double", least, most, std::sqrt(squares),
             to_hex(sha256(bytes)).substr(0, kHashDigits));
}

int inspect(const std::string& run, bool only_config, bool only_hash) {
  const FoundRun source = find_run(run, {}, Take::last);
  const Checkpoint& checkpoint = source.checkpoint;
  const std::string hash = only_config ? "" : state_hash(checkpoint);
  if (only_config || only_hash) {
    fmt::print("{}", only_config ? checkpoint.config : hash + "\n");
    return 0;
  }
  fmt::print("{}\nstep {}, {} parameters in {} tensors\nhash {}\n", source.file, checkpoint.step,
             grouped(count(checkpoint.parameters)), checkpoint.parameters.size(), hash);
  for (const auto& [name, value] : checkpoint.state) {
    if (const auto* text = std::get_if<std::string>(&value); text && text->size() > kMostText) {
      fmt::print("{} = {}... ({} bytes)\n", name, text->substr(0, kMostText), text->size());
      continue;
    }
    std::visit([&, &key = name](const auto& v) { fmt::print("{} = {}\n", key, v); }, value);
  }
  if (!source.directory.empty()) {
    const auto certificate = read_certificate(source.directory);
    if (certificate) fmt::print("{}: {}\n", kCertificate, sentence(*certificate));
    fmt::print("\n{:<48} {:>14}\n", "validation", "loss");
    for (const MetricsRow& row : read_run(source.directory).rows) {
      if (row.split != "validation" || row.step > checkpoint.step) continue;
      fmt::print("step {:<43} {:>14.6g}\n", row.step, row.number("loss").value_or(NAN));
    }
  }
  fmt::print("\n{:<48} {:>14} {:>7} {:>11} {:>11} {:>11}  {}\n", "tensor", "shape", "type", "min",
             "max", "rms", "SHA-256");
  for (const auto* tensors : {&checkpoint.parameters, &checkpoint.optimizer}) {
    for (const NamedTensor& entry : *tensors) {
      std::visit([&](const auto& tensor) { print_tensor(entry.name, tensor); }, entry.tensor);
    }
  }
  return 0;
}

using Row = std::vector<std::string>;

std::vector<Row> metrics(const std::vector<RunGroup>& groups) {
  std::vector<Row> rows;
  for (const std::string split : {"validation", "test"}) {
    for (const std::string& metric : metrics_of(groups, {split})) {
      Row& row = rows.emplace_back(Row{split + " " + metric});
      for (const RunGroup& group : groups) {
        const MetricsRow& last = group.last.at(split);
        const auto number = last.number(metric), error = last.number(metric + "_se");
        row.push_back(number ? figure_text(*number, error.value_or(NAN)) : "-");
      }
    }
  }
  return rows;
}

// One column per group of runs that differ by seed only, or one per run if there is only one group.
std::vector<RunGroup> columns(const std::vector<RunHistory>& runs) {
  std::vector<RunGroup> groups = group_runs(runs);
  if (groups.size() > 1) return groups;
  groups.clear();
  for (const RunHistory& run : runs) groups.push_back(group_runs({run})[0]);
  return groups;
}

std::string steps(const RunGroup& group, std::uint64_t RunHistory::*step) {
  const auto [least, most] = std::ranges::minmax_element(group.runs, {}, step);
  const std::uint64_t first = (*least).*step, last = (*most).*step;
  return first == last ? std::to_string(last) : fmt::format("{} to {}", first, last);
}

}  // namespace

Command inspect_command() {
  struct Arguments {
    std::string run, fourier;
    std::size_t rows = 0;
    bool config = false, hash = false;
  };
  const auto a = std::make_shared<Arguments>();
  return Command(
      "inspect", "Show what a checkpoint holds",
      {{"run", kRun, &a->run, kRequired},
       {"--config", "print only the config in the checkpoint", &a->config},
       {"--hash", "print only the hash of the weights and the optimizer state", &a->hash},
       {"--fourier",
        "print only the spectrum of this matrix's rows: each frequency's share of the variance",
        &a->fourier, Rules{.excludes = {"--config", "--hash"}, .value = "PARAMETER"}},
       {"--rows", "number of rows of the matrix to use, from the first; default: all", &a->rows,
        Rules{.range = {{2, 1000000}}, .needs = {"--fourier"}}}},
      [a] {
        if (a->fourier.empty()) return inspect(a->run, a->config, a->hash);
        const Checkpoint checkpoint = find_run(a->run, {}, Take::last).checkpoint;
        fmt::print("{}", to_text(spectrum(checkpoint, a->fourier, a->rows)));
        return 0;
      });
}

Command compare_command() {
  const auto runs = std::make_shared<std::vector<std::string>>();
  return Command("compare", "Show how configs and results of runs differ",
                 {{"runs", "run directories", runs.get(), kRequired}}, [runs] {
                   const std::vector<RunGroup> groups = columns(read_runs(*runs));
                   std::vector<Row> rows{{""}, {"state"}, {"last step"}, {"scored step"}};
                   for (const RunGroup& group : groups) {
                     rows[0].push_back(group.name);
                     rows[1].push_back(group.state());
                     rows[2].push_back(steps(group, &RunHistory::last_step));
                     rows[3].push_back(steps(group, &RunHistory::scored_step));
                   }
                   for (const Row& row : settings_of(groups)) rows.push_back(row);
                   for (const Row& row : metrics(groups)) rows.push_back(row);
                   fmt::print("{}", text_table(rows));
                   return 0;
                 });
}

Command report_command() {
  struct Arguments {
    std::vector<std::string> runs;
    std::string out;
    bool heads = false;
  };
  const auto a = std::make_shared<Arguments>();
  return Command(
      "report", "Write an HTML report of one or several runs",
      {{"runs", "run directories", &a->runs, kRequired},
       {"--out", "the HTML file; default for one run: RUN/report.html", &a->out, kNewPath},
       {"--heads", "also show what each head attends to and how much it matters", &a->heads}},
      [a] {
        xgrad::check<ConfigError>(!a->out.empty() || a->runs.size() == 1,
                                  "report: several runs need --out, the file to write");
        const std::string out = a->out.empty() ? std::filesystem::path(a->runs[0]) / "report.html"
                                               : std::filesystem::path(a->out);
        const auto [folder, name] = folder_and_name(out);
        if (!a->out.empty()) check_new(out);
        publish_over(folder, name, report_html(a->runs, a->heads));
        fmt::print("{}\n", out);
        return 0;
      });
}

}  // namespace xgrad::commands

#include <xgrad/train/report/report.hpp>

#include <fmt/format.h>

#include <filesystem>

#include <xgrad/autograd/check.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/storage/disk/publish.hpp>

namespace xgrad::commands {

namespace fs = std::filesystem;

namespace {

struct Arguments {
  std::vector<std::string> runs;
  std::string out;
  bool heads = false;
};

int write_report(const Arguments& arguments) {
  fs::path out = arguments.out;
  if (arguments.out.empty()) {
    xgrad::check<ConfigError>(arguments.runs.size() == 1,
                              "report: several runs need --out, the file to write");
    out = fs::path(arguments.runs[0]) / "report.html";
  }
  const auto [folder, name] = folder_and_name(out.string());
  if (!arguments.out.empty()) check_new(out.string());
  publish_over(folder, name, report_html(arguments.runs, arguments.heads));
  fmt::print("{}\n", out.string());
  return 0;
}

}  // namespace

Command report_command() {
  const auto a = std::make_shared<Arguments>();
  return Command(
      "report", "Write an HTML report of one or several runs",
      {{"runs", "run directories", &a->runs, kRequired},
       {"--out", "the HTML file; default for one run: its report.html", &a->out, kNewPath},
       {"--heads", "also show what each head attends to and how much it matters", &a->heads}},
      [a] { return write_report(*a); });
}

}  // namespace xgrad::commands

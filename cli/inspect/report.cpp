#include <xgrad/train/report/report.hpp>

#include <fmt/format.h>

#include <filesystem>

#include <xgrad/autograd/check.hpp>
#include <xgrad/cli/command.hpp>

namespace xgrad::commands {

namespace fs = std::filesystem;

int write_report(const ReportArguments& arguments) {
  fs::path out = arguments.out;
  if (arguments.out.empty()) {
    xgrad::check<ConfigError>(arguments.runs.size() == 1,
                              "report: --out names the page of several runs");
    out = fs::path(arguments.runs[0]) / "report.html";
  }
  const fs::path folder = out.has_parent_path() ? out.parent_path() : ".";
  xgrad::check<IoError>(arguments.out.empty() || !fs::exists(out), arguments.out,
                        " exists already");
  xgrad::write_report(folder.string(), out.filename().string(), arguments.runs, arguments.heads);
  fmt::print("{}\n", out.string());
  return 0;
}

}  // namespace xgrad::commands

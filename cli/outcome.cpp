#include <xgrad/cli/outcome.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/metrics/rows.hpp>

namespace xgrad::commands {

std::string summary(const Metrics& metrics) {
  std::string text;
  for (const Figure& figure : metrics.figures()) {
    std::string name = figure.name;
    std::replace(name.begin(), name.end(), '_', ' ');
    text += fmt::format("{}{} {:.4f} ± {:.4f}", text.empty() ? "" : ", ", name, figure.value,
                        figure.standard_error);
  }
  return text;
}

std::string unknown_text(std::size_t unknown, std::size_t tokens) {
  return fmt::format("{} of {} tokens are not in the vocabulary and were read as <unk>", unknown,
                     tokens);
}

namespace {

void print(const Outcome& outcome) {
  fmt::print("test    {}\n", summary(outcome.result.test));
  for (const Rule& rule : outcome.result.rules) {
    fmt::print("rule    {}: accuracy {:.4f}, exact match {:.4f}\n", rule.name, rule.accuracy,
               rule.exact);
  }
  for (const Verdict& verdict : outcome.verdicts) {
    fmt::print("expect  {}: {}  {}\n", verdict.claim, verdict.found,
               verdict.holds ? "ok" : "FAILED");
  }
}

}  // namespace

int report(const Outcome& outcome, bool json) {
  if (outcome.signal != 0) return 128 + outcome.signal;
  if (json) {
    fmt::print("{}\n", metrics_row(outcome.result.steps, "test", outcome.result.test));
  } else {
    print(outcome);
  }
  std::fflush(stdout);
  xgrad::check<IoError>(outcome.report_failure.empty(), outcome.report_failure);
  return 0;
}

}  // namespace xgrad::commands

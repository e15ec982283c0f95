#include <xgrad/train/commands/outcome.hpp>

#include <fmt/format.h>

#include <xgrad/train/metrics_log.hpp>

namespace xgrad::commands {

namespace {

std::string with_error(const RatioMean& value) {
  return fmt::format("{:.4f} ± {:.4f}", value.mean(), value.standard_error());
}

}  // namespace

std::string summary(const Metrics& metrics) {
  return fmt::format("loss {}, accuracy {}, exact match {}", with_error(metrics.loss),
                     with_error(metrics.accuracy), with_error(metrics.exact));
}

int report(const Outcome& outcome, bool json) {
  if (outcome.signal != 0) return 128 + outcome.signal;
  if (json) {
    fmt::print("{}\n", metrics_row(outcome.result.steps, "test", outcome.result.test));
    return 0;
  }
  fmt::print("test    {}\n", summary(outcome.result.test));
  for (const Verdict& verdict : outcome.verdicts) {
    fmt::print("expect  {}: {}  {}\n", verdict.claim, verdict.found,
               verdict.holds ? "ok" : "FAILED");
  }
  return 0;
}

}  // namespace xgrad::commands

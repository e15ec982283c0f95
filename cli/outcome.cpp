#include <xgrad/cli/outcome.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <system_error>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/data/rules/ngram.hpp>
#include <xgrad/storage/formats/tensors.hpp>
#include <xgrad/train/logs/metrics_row.hpp>
#include <xgrad/train/ranks/ranks.hpp>

namespace xgrad::commands {

int exit_code(const std::exception& error) {
  if (dynamic_cast<const ConfigError*>(&error)) return 2;
  if (dynamic_cast<const DataError*>(&error)) return 3;
  if (dynamic_cast<const CheckpointError*>(&error)) return 4;
  if (dynamic_cast<const FormatError*>(&error)) return 4;  // raised when exporting weights
  if (dynamic_cast<const NumericError*>(&error)) return 5;
  if (dynamic_cast<const IoError*>(&error)) return 6;
  if (dynamic_cast<const std::system_error*>(&error)) return 6;  // such as printing to a full disk
  if (dynamic_cast<const LockError*>(&error)) return 7;
  if (dynamic_cast<const std::bad_alloc*>(&error)) return 8;
  return 1;
}

void print_error(const std::string& message) {
  const auto space = [](unsigned code) { return code == '\n' ? "\n" : " "; };
  std::fputs(replace_controls(message, space).c_str(), stderr);
}

void tell_others_wait(const std::string& command) {
  const std::size_t others = ranks().size() - 1;
  if (others == 0) return;
  print_error("xgrad: " + command + " runs on one process; the other " + std::to_string(others) +
              " wait\n");
}

std::string summary(const Metrics& metrics) {
  std::string text;
  for (const Figure& figure : metrics.figures()) {
    std::string name = figure.name;
    std::replace(name.begin(), name.end(), '_', ' ');
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                        figure_text(figure.value, figure.standard_error));
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
    fmt::print("rule    {}: accuracy {:.4f}, exact match {:.4f}{}\n", rule.name, rule.accuracy,
               rule.exact, loss_text(rule));
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
    fmt::print("{}\n", to_json(metrics_row(outcome.result.steps, "test", outcome.result.test)));
  } else {
    print(outcome);
  }
  return 0;
}

}  // namespace xgrad::commands

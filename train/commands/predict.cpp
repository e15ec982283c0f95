#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <optional>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/commands.hpp>
#include <xgrad/train/commands/ready_lines.hpp>
#include <xgrad/train/prediction_text.hpp>

namespace xgrad::commands {

namespace {

using Format = std::string (*)(const Prediction&);
const std::map<std::string, Format> kFormats = {
    {"text", prediction_text}, {"tsv", prediction_tsv}, {"jsonl", prediction_json}};

}  // namespace

std::vector<std::string> prediction_formats() {
  return {"text", "tsv", "jsonl"};
}

int predict(const PredictArguments& arguments) {
  constexpr std::size_t kMostLines = 64;
  const Predictor predictor(arguments.run);
  const Format format = arguments.logits ? logits_text : kFormats.at(arguments.format);
  ReadyLines input(STDIN_FILENO);
  std::size_t number = 0;
  std::optional<DataError> bad;
  for (auto lines = input.next(kMostLines); !lines.empty(); lines = input.next(kMostLines)) {
    std::vector<Example> examples;
    for (const std::string& line : lines) {
      ++number;
      try {
        examples.push_back(predictor.parse(line, number));
      } catch (const Error& error) {
        bad.emplace(fmt::format("standard input, line {}: {}", number, error.what()));
        break;
      }
    }
    for (const Prediction& answer : predictor(examples)) fmt::print("{}\n", format(answer));
    if (std::fflush(stdout) != 0) throw IoError("cannot write to standard output");
    if (bad) throw *bad;
  }
  return 0;
}

}  // namespace xgrad::commands

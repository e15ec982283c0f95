#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <optional>

#include <xgrad/autograd/check.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/cli/deploy/ready_lines.hpp>
#include <xgrad/cli/outcome.hpp>
#include <xgrad/data/tables/table.hpp>
#include <xgrad/data/text/example_text.hpp>
#include <xgrad/train/predict/text.hpp>

namespace xgrad::commands {

namespace {

struct Arguments {
  std::string run, format = "text", precision;
  bool logits = false, keep_going = false;
  std::size_t beam = 0;
  double length_penalty = 0;
};

struct Format {
  const char* name;
  std::string (*write)(const Prediction&);
  const char* nothing;                        // the answer to an empty line
  std::string (*refuse)(const std::string&);  // the answer to one that is no input
};

std::string error_text(const std::string& message) {
  return "error: " + message;
}

const Format kFormats[] = {{"text", prediction_text, "", error_text},
                           {"tsv", prediction_tsv, "", error_text},
                           {"jsonl", prediction_json, "{}", error_json}};

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

// Predicts from each line of standard input as soon as it arrives.
int predict(const Arguments& arguments) {
  constexpr std::size_t kMostLines = 64;
  const Predictor predictor(
      arguments.run,
      arguments.beam > 0 ? std::optional(BeamOptions{arguments.beam, arguments.length_penalty})
                         : std::nullopt,
      arguments.precision);
  const auto format = std::find_if(std::begin(kFormats), std::end(kFormats),
                                   [&](const Format& f) { return arguments.format == f.name; });
  xgrad::check<ConfigError>(format != std::end(kFormats), "there is no prediction format ",
                            arguments.format);
  const auto write = arguments.logits ? logits_text : format->write;
  ReadyLines input(STDIN_FILENO);
  std::size_t number = 0;
  std::optional<DataError> bad;  // the first
  std::size_t bad_lines = 0;
  std::size_t tokens = 0, unknown = 0, lines_with_unknown = 0;
  for (auto lines = input.next(kMostLines); !lines.empty(); lines = input.next(kMostLines)) {
    std::vector<Example> examples;
    std::vector<std::optional<std::string>> known;  // the answer to each line, if no model gives it
    for (const std::string& line : lines) {
      ++number;
      known.push_back(line.empty() ? std::optional<std::string>(format->nothing) : std::nullopt);
      if (line.empty()) continue;
      try {
        xgrad::check<DataError>(line.size() <= kMostText, "has more than ", kMostText,
                                " bytes, the limit of a line");
        examples.push_back(predictor.parse(line, number));
        const std::size_t of_line = unknown_tokens(examples.back(), predictor.shape());
        tokens += examples.back().ids.size();
        unknown += of_line;
        lines_with_unknown += of_line > 0;
      } catch (const Error& error) {
        if (!bad) bad.emplace(fmt::format("standard input, line {}: {}", number, error.what()));
        ++bad_lines;
        known.back() = format->refuse(error.what());
        if (arguments.keep_going) continue;
        known.pop_back();
        break;
      }
    }
    const std::vector<Prediction> answers = predictor(examples);
    auto answer = answers.begin();
    for (const auto& text : known) fmt::print("{}\n", text ? *text : write(*answer++));
    if (std::fflush(stdout) != 0) throw IoError("cannot write to standard output");
    if (bad && !arguments.keep_going) break;
  }
  if (unknown > 0) {
    fmt::print(stderr, "{}, in {} of {} lines\n", unknown_text(unknown, tokens), lines_with_unknown,
               number - bad_lines);
  }
  if (bad_lines > 1)
    fmt::print(stderr, "{} of {} lines are no inputs; the first:\n", bad_lines, number);
  if (bad) throw *bad;
  return 0;
}

}  // namespace

Command predict_command() {
  const auto a = std::make_shared<Arguments>();
  return Command(
      "predict", "Predict from each line of standard input",
      {{"run", kRun, &a->run, kRequired},
       {"--format", "the output format", &a->format, {.choices = format_names()}},
       {"--beam",
        "for outputs that the model generates: search with a beam of K hypotheses; default: greedy",
        &a->beam,
        {.range = {{1, 1024}}, .value = "K"}},
       {"--length-penalty",
        "compare hypotheses by log-probability / length^A; default: by probability",
        &a->length_penalty,
        {.positive = true, .needs = {"--beam"}, .value = "A"}},
       {"--keep-going",
        "answer a line that is no input with an error, and go on; the exit code is 3 at the end",
        &a->keep_going},
       {"--logits", "print logits instead of labels", &a->logits, {.excludes = {"--format"}}},
       {"--precision",
        "the arithmetic, as in train.precision; default: that of the run",
        &a->precision,
        {.choices = {"float", "bf16", "double"}}}},
      [a] { return predict(*a); });
}

}  // namespace xgrad::commands

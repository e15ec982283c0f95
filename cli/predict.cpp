// The commands predict and generate.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/data/example_text.hpp>
#include <xgrad/data/tables/table.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/predict/predictor.hpp>

namespace xgrad::commands {

namespace {

struct PredictArguments : EnsembleArguments {
  std::string format = "text", precision;
  bool logits = false, keep_going = false;
  std::size_t beam = 0;
  double length_penalty = 0;
};

// Reads lines from a pipe or terminal as they arrive.
class ReadyLines {
 public:
  explicit ReadyLines(int descriptor) : descriptor_(descriptor) {}

  // Waits for one line, then adds lines that are ready, up to `most`; empty at the end of the
  // input. Removes line ends, \n or \r\n; the last line may lack one. A line may be endless: if it
  // exceeds kMostText bytes, returns its first part, slightly more than kMostText bytes, as soon as
  // this part is read, and drops the rest. Throws IoError when reading fails.
  std::vector<std::string> next(std::size_t most) {
    std::vector<std::string> lines;
    while (lines.size() < most && (lines.empty() || !rest_)) {
      const std::size_t end = std::min(buffer_.find('\n', searched_), buffer_.size());
      const bool ends = end < buffer_.size(), whole = ends || (ended_ && begin_ < end);
      searched_ = end;
      pollfd input = {descriptor_, POLLIN, 0};
      if (whole || end - begin_ > kMostText + 1 || (rest_ && begin_ < end)) {  // one more: \r
        if (!rest_) lines.push_back(buffer_.substr(begin_, end - begin_));
        if (!rest_ && whole && lines.back().ends_with('\r')) lines.back().pop_back();
        rest_ = !ends;
        begin_ = searched_ = end + ends;
      } else if (ended_ || (!lines.empty() && ::poll(&input, 1, 0) <= 0)) {
        break;
      } else {
        fill();
      }
    }
    return lines;
  }

 private:
  void fill() {
    std::array<char, 1 << 16> bytes;
    ssize_t got = 0;
    do {
      got = ::read(descriptor_, bytes.data(), bytes.size());
    } while (got < 0 && errno == EINTR);
    if (got < 0) xgrad::detail::fail<IoError>("cannot read standard input: ", std::strerror(errno));
    buffer_.erase(0, begin_);
    searched_ -= begin_;
    begin_ = 0;
    buffer_.append(bytes.data(), std::size_t(got));
    ended_ = got == 0;
  }

  int descriptor_;
  std::string buffer_;
  std::size_t begin_ = 0;     // where the next line begins in buffer_
  std::size_t searched_ = 0;  // buffer_ has no line end from begin_ up to here
  bool rest_ = false;         // whether the next bytes belong to a line already returned
  bool ended_ = false;
};

// The labels, or the numbers with six digits, separated by spaces. For yes-or-no targets, only
// labels that are yes.
std::string prediction_text(const Prediction& prediction) {
  if (!prediction.numbers.empty()) return fmt::format("{:.6g}", fmt::join(prediction.numbers, " "));
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < prediction.labels.size(); ++i) {
    const bool said = !prediction.multi_label || prediction.probabilities[i] > 0.5;
    if (said) labels.push_back(prediction.labels[i]);
  }
  return joined(labels, " ");
}

// The labels, a tab and their probabilities, each separated by spaces; or the numbers. For a
// generated output, another tab and its log-probability follow. In labels, backslash, tab, line
// feed and carriage return become \\, \t, \n and \r.
std::string prediction_tsv(const Prediction& prediction) {
  if (!prediction.numbers.empty()) return fmt::format("{}", fmt::join(prediction.numbers, " "));
  std::vector<std::string> labels;
  for (const std::string& label : prediction.labels) {
    std::string& text = labels.emplace_back();
    for (const char c : label) {
      const std::size_t at = std::string_view("\\\t\n\r").find(c);
      text += at == std::string_view::npos ? std::string{c} : std::string{'\\', "\\tnr"[at]};
    }
  }
  std::string text =
      fmt::format("{}\t{:.6f}", fmt::join(labels, " "), fmt::join(prediction.probabilities, " "));
  if (prediction.log_probability) text += fmt::format("\t{:.6f}", *prediction.log_probability);
  return text;
}

// {"labels": [...], "probabilities": [...]} or {"numbers": [...]}. A generated output also has its
// "log_probability", and after a beam search "beam": a list of {"labels": [...], "log_probability":
// ...}, best first. Numbers read back exactly.
std::string prediction_json(const Prediction& prediction) {
  nlohmann::ordered_json row;
  if (!prediction.numbers.empty()) {
    row["numbers"] = prediction.numbers;
  } else {
    row["labels"] = prediction.labels;
    row["probabilities"] = prediction.probabilities;
  }
  if (prediction.log_probability) row["log_probability"] = *prediction.log_probability;
  for (const BeamOutput& output : prediction.beam) {
    row["beam"].push_back({{"labels", output.labels}, {"log_probability", output.log_probability}});
  }
  return row.dump();
}

// The logits of all positions, separated by spaces, with enough digits to read back exactly.
std::string logits_text(const Prediction& prediction) {
  return std::visit(
      []<class T>(const Tensor<T>& logits) {
        constexpr const char* kFormat = std::is_same_v<T, float> ? "{:.9g}" : "{:.17g}";
        return fmt::format(kFormat, fmt::join(logits.data(), logits.data() + logits.size(), " "));
      },
      prediction.logits);
}

// Predicts from each line of standard input as soon as it arrives.
int predict(const PredictArguments& a) {
  constexpr std::size_t kMostLines = 64;
  const Predictor predictor(
      find_runs(a.runs, in_precision(a.precision), a.take()),
      a.beam > 0 ? std::optional(BeamOptions{a.beam, a.length_penalty}) : std::nullopt);
  const auto write = a.logits             ? logits_text
                     : a.format == "text" ? prediction_text
                     : a.format == "tsv"  ? prediction_tsv
                                          : prediction_json;
  const std::optional<std::string> nothing = a.format == "jsonl" ? "{}" : "";
  ReadyLines input(STDIN_FILENO);
  std::size_t number = 0;
  std::optional<DataError> bad;  // the first
  std::size_t bad_lines = 0, tokens = 0, unknown = 0, lines_with_unknown = 0;
  for (auto lines = input.next(kMostLines); !lines.empty(); lines = input.next(kMostLines)) {
    std::vector<Example> examples;
    std::vector<std::optional<std::string>> known;  // answers that need no model; null: the model's
    for (const std::string& line : lines) {
      ++number;
      known.push_back(line.empty() ? nothing : std::nullopt);
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
        known.pop_back();
        if (!a.keep_going) break;
        const std::string why = error.what();
        known.push_back(a.format == "jsonl" ? nlohmann::json({{"error", why}}).dump()
                                            : "error: " + why);
      }
    }
    const std::vector<Prediction> answers = predictor(examples);
    auto answer = answers.begin();
    for (const auto& text : known) fmt::print("{}\n", text ? *text : write(*answer++));
    if (std::fflush(stdout) != 0) throw IoError("cannot write to standard output");
    if (bad && !a.keep_going) break;
  }
  if (unknown > 0) {
    fmt::print(stderr, "{}, in {} of {} lines\n", unknown_text(unknown, tokens), lines_with_unknown,
               number - bad_lines);
  }
  if (bad_lines > 1) {
    fmt::print(stderr, "{} of {} lines are not valid inputs; the first:\n", bad_lines, number);
  }
  if (bad) throw *bad;
  return 0;
}

}  // namespace

Command predict_command() {
  const auto a = std::make_shared<PredictArguments>();
  return Command(
      "predict", "Predict from each line of standard input",
      {{"runs", kRuns, &a->runs, kRequired},
       {"--format", "the output format", &a->format, Rules{.choices = {"text", "tsv", "jsonl"}}},
       {"--beam",
        "for a model that generates its output: search with a beam of K hypotheses; default: "
        "greedy",
        &a->beam, Rules{.range = {{1, 1024}}, .value = "K"}},
       {"--length-penalty",
        "compare hypotheses by log-probability / length^A; default: by probability",
        &a->length_penalty, Rules{.positive = true, .needs = {"--beam"}, .value = "A"}},
       {"--keep-going",
        "answer an invalid line with an error and continue; the exit code at the end is 3",
        &a->keep_going},
       {"--logits", "print logits instead of labels", &a->logits, Rules{.excludes = {"--format"}}},
       {"--precision", "the arithmetic, as in train.precision; default: that of the run",
        &a->precision, Rules{.choices = {"float", "bf16", "double"}}},
       last_option(*a)},
      [a] { return predict(*a); });
}

Command generate_command() {
  struct Arguments : EnsembleArguments {
    std::string text;
    double temperature = 1;
    std::size_t seed = 1, length = 1000;
  };
  const auto a = std::make_shared<Arguments>();
  return Command(
      "generate", "Continue a text with a trained language model",
      {{"runs", kRuns, &a->runs, kRequired},
       {"--text",
        "the text to continue; the model reads only its last task.max_length tokens; default: "
        "empty",
        &a->text},
       {"--temperature", "divides the logits; 0: always the likeliest token", &a->temperature},
       {"--seed", "seed of the random choices", &a->seed},
       {"--length", "maximum number of tokens to add; the text may end earlier", &a->length,
        Rules{.range = {{1, 1000000000}}}},
       last_option(*a)},
      [a] {
        xgrad::check<ConfigError>(std::isfinite(a->temperature) && a->temperature >= 0,
                                  "--temperature: is ", a->temperature,
                                  ", must be finite and at least 0");
        const TextGenerator generator(a->runs, a->take());
        const auto say = [](const std::string& text) {  // each token as soon as it is chosen
          fmt::print("{}", text);
          if (std::fflush(stdout) != 0) throw IoError("cannot write to standard output");
        };
        bool begun = false;
        generator.generate(a->text, a->length, {a->temperature, a->seed},
                           [&](const std::string& text) {
                             if (!begun) say(a->text);
                             begun = true;
                             say(text);
                           });
        say(begun ? "\n" : a->text + "\n");
        return 0;
      });
}

}  // namespace xgrad::commands

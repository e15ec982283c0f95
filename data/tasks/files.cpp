// Task `files`: rows of user files. Inputs are words, characters, numbers or graphs. Targets are a
// label, several labels, numbers, a label for each token, or hidden tokens.
#include <map>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/tables/row_task.hpp>
#include <xgrad/data/tasks/entries.hpp>
#include <xgrad/data/unknown.hpp>

namespace xgrad {

namespace {

OptionSpec choice(const char* name, const char* help, std::vector<std::string> choices) {
  OptionSpec spec{name, choices.front(), help};
  spec.choices = std::move(choices);
  return spec;
}

const std::vector<OptionSpec>& option_table() {
  static const std::vector<OptionSpec> table = {
      file_option("train", "File of the training rows, or folder of npy files."),
      file_option("validation",
                  "As train, for the validation rows; empty: a tenth of the training file, chosen "
                  "by a hash of the input."),
      file_option("test",
                  "As train, for the test rows; empty: another tenth of the training file."),
      choice(
          "format",
          "File format; auto goes by the extension. lines, paragraphs: plain text, with a row for "
          "each line or paragraph.",
          {"auto", "csv", "tsv", "jsonl", "lines", "paragraphs", "hdf5", "npy"}),
      {"input", "text",
       "Input column; with tokens = numbers also several columns, separated by commas."},
      {"target", "label", "Column of the labels, or of the numbers to predict."},
      {"edges", "",
       "Column of the edges of graphs, such as 0-1 1-2; empty: inputs are not graphs."},
      choice("tokens",
             "What a token is. words: a word, by white space or from a list; plain_words: a word "
             "in lower case, without punctuation; word_pairs: those and, after each, its pair with "
             "the next; characters: a character; numbers: a number or a vector of numbers.",
             {"words", "plain_words", "word_pairs", "characters", "numbers"}),
      choice(
          "labels",
          "What the model predicts. sequence: one label for each row; tokens: one label for "
          "each token; multi_label: any number of labels for each row, yes or no for each; "
          "numbers: numbers for each row; masked: hidden tokens, without labels; next: each token "
          "from those before it, without labels.",
          {"sequence", "tokens", "multi_label", "numbers", "masked", "next"}),
      {"vocabulary", 0, "Maximum vocabulary size; the most frequent tokens are kept. 0: no limit.",
       0, 1 << 24},
      {"min_count", 1, "Minimum count in the training rows: rarer tokens become <unk>.", 1, 1e9},
      unknown_option(),
      {"lowercase", false, "Converts the input to lower case, in all alphabets of Unicode."},
      {"max_length", 0,
       "Maximum tokens in a row; 0: those of the longest row in the training file.", 0, 65536},
      choice(
          "longer",
          "What to do with rows above max_length: stop with an error, or cut them; with labels = "
          "next, all pieces become examples.",
          {"error", "cut"}),
      {"masked", 0.15, "With labels = masked: fraction of the tokens to hide.", above(0), below(1)},
  };
  return table;
}

Labels labels(const std::string& name) {
  static const std::map<std::string, Labels> all = {
      {"sequence", Labels::sequence},       {"tokens", Labels::tokens},
      {"multi_label", Labels::multi_label}, {"numbers", Labels::numbers},
      {"masked", Labels::masked},           {"next", Labels::next}};
  return all.at(name);
}

/// Splits a list of column names, such as "height, width".
std::vector<std::string> column_names(const std::string& text) {
  std::vector<std::string> names(1);
  for (const char c : text) {
    if (c == ',') {
      names.emplace_back();
    } else if (c != ' ' || !names.back().empty()) {
      names.back() += c;
    }
  }
  for (std::string& name : names) {
    name.erase(name.find_last_not_of(' ') + 1);
    check<ConfigError>(!name.empty(), "task.input: a column has no name");
  }
  return names;
}

void check_options(const RowOptions& row) {
  const bool numbers = row.tokens == TokenKind::numbers;
  check<ConfigError>(numbers || row.inputs.size() == 1,
                     "task.input: several columns need task.tokens = \"numbers\"");
  check<ConfigError>(!numbers || !row.lowercase,
                     "task.lowercase: needs text, not task.tokens = \"numbers\"");
  const bool itself = row.labels == Labels::masked || row.labels == Labels::next;
  check<ConfigError>(
      !itself || row.tokens == TokenKind::words || row.tokens == TokenKind::characters,
      "task.labels: \"", row.labels == Labels::next ? "next" : "masked",
      "\" needs task.tokens = \"words\" or \"characters\"");
  check<ConfigError>(row.labels != Labels::tokens || row.tokens != TokenKind::word_pairs,
                     "task.labels: \"tokens\" needs a label for each token, which pairs of words "
                     "do not have");
  check<ConfigError>(row.labels != Labels::next || row.edges.empty(),
                     "task.labels: \"next\" needs texts, not graphs");
  check<ConfigError>(
      !row.cut || row.edges.empty(),
      "task.longer: graphs cannot be cut, because their edges may join the tokens cut off");
}

RowOptions row_options(const Options& options) {
  const auto size = [&](const char* name) { return std::size_t(get_int(options, name)); };
  RowOptions row;
  row.inputs = column_names(get_string(options, "input"));
  row.target = get_string(options, "target");
  row.edges = get_string(options, "edges");
  row.tokens = token_kinds().at(get_string(options, "tokens"));
  row.labels = labels(get_string(options, "labels"));
  row.vocabulary = size("vocabulary");
  row.min_count = size("min_count");
  row.max_length = size("max_length");
  row.unknown = get_double(options, "unknown");
  row.lowercase = get_bool(options, "lowercase");
  row.cut = get_string(options, "longer") == "cut";
  row.masked = get_double(options, "masked");
  check_options(row);
  return row;
}

std::unique_ptr<Task> make(const Options& given, std::uint64_t seed) {
  const Options options = complete(option_table(), given);
  RowOptions row = row_options(options);
  RowSource source;
  source.task = "files";
  source.read = [options, columns = row.columns()](Split split) {
    const std::string path = get_string(options, to_string(split));
    check<ConfigError>(!path.empty(),
                       "task.train: is empty, must name the file of the training rows");
    return open_table(path, get_string(options, "format"), columns);
  };
  for (const char* name : {"train", "validation", "test"}) {
    if (const std::string path = get_string(options, name); !path.empty()) {
      source.files.push_back(path);
    }
  }
  source.has_own = [options](Split split) {
    return split == Split::train || !get_string(options, to_string(split)).empty();
  };
  return row_task(std::move(source), std::move(row), seed);
}

}  // namespace

TaskEntry files_task() {
  return {"files",        "Learn from your own CSV, TSV, JSON Lines, HDF5 or NumPy files.",
          option_table(), {},
          make,           "A model that suits your data; docs/your-data.md explains the keys."};
}

}  // namespace xgrad

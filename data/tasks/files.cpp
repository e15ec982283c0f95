// The user's own rows: words, characters, numbers or graphs, with a label, any number of labels,
// numbers, a label for each token, or alone.
#include <map>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/files/row_task.hpp>
#include <xgrad/data/files/unknown.hpp>
#include <xgrad/data/tasks/entries.hpp>

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
                  "The same of the validation rows; empty: a tenth of the training file, chosen by "
                  "a hash of the input."),
      file_option("test", "The same of the test rows."),
      choice("format", "Of all files; auto: as the ending of a name says.",
             {"auto", "csv", "tsv", "jsonl", "hdf5", "npy"}),
      {"input", "text", "Column of the inputs; several of numbers, with commas between them."},
      {"target", "label", "Column of the labels or of the numbers to predict."},
      {"edges", "",
       "Column of the edges, as 0-1 1-2, where inputs are graphs; empty: they are none."},
      choice("tokens", "What the tokens of an input are.",
             {"words", "plain_words", "characters", "numbers"}),
      choice(
          "labels",
          "One for a row, one for each of its tokens, any number for a row (multi_label: each is "
          "an answer, yes or no), numbers for a row, or none: hidden tokens are to be found.",
          {"sequence", "tokens", "multi_label", "numbers", "masked"}),
      {"vocabulary", 0, "Different tokens at most, the most frequent ones; 0: all.", 0, 1 << 24},
      {"min_count", 1, "Times that a token must come in the training rows to be known.", 1, 1e9},
      unknown_option(),
      {"lowercase", false, "Capital letters of the input are made small."},
      {"max_length", 0, "Tokens of the longest row; 0: of the longest in the training file.", 0,
       65536},
      choice("longer", "What becomes of rows that are longer: an error, or they are cut.",
             {"error", "cut"}),
      {"masked", 0.15, "Part of the tokens that is hidden, where labels is masked.", above(0),
       below(1)},
  };
  return table;
}

template <class Enum>
Enum chosen(const Options& options, const char* name, const std::map<std::string, Enum>& words) {
  return words.at(get_string(options, name));
}

/// "height, width"
std::vector<std::string> column_names(const std::string& text) {
  std::vector<std::string> names(1);
  for (const char c : text) {
    if (c == ',') {
      names.emplace_back();
    } else if (c != ' ' || !names.back().empty()) {
      names.back() += c;
    }
  }
  for (const std::string& name : names) {
    check<ConfigError>(!name.empty(), "task.input: a column has no name");
  }
  return names;
}

void check_options(const RowOptions& row) {
  const bool numbers = row.tokens == TokenKind::numbers;
  check<ConfigError>(numbers || row.inputs.size() == 1,
                     "task.input: several columns are for task.tokens = \"numbers\"");
  check<ConfigError>(!numbers || !row.lowercase,
                     "task.lowercase: is for text, not for task.tokens = \"numbers\"");
  check<ConfigError>(row.labels != Labels::masked || row.tokens == TokenKind::words ||
                         row.tokens == TokenKind::characters,
                     "task.labels: \"masked\" is for task.tokens = \"words\" or \"characters\"");
  check<ConfigError>(!row.cut || row.edges.empty(),
                     "task.longer: graphs cannot be cut; their edges would lead nowhere");
}

RowOptions row_options(const Options& options) {
  const auto size = [&](const char* name) { return std::size_t(get_int(options, name)); };
  RowOptions row;
  row.inputs = column_names(get_string(options, "input"));
  row.target = get_string(options, "target");
  row.edges = get_string(options, "edges");
  row.tokens = chosen<TokenKind>(options, "tokens",
                                 {{"words", TokenKind::words},
                                  {"plain_words", TokenKind::plain_words},
                                  {"characters", TokenKind::characters},
                                  {"numbers", TokenKind::numbers}});
  row.labels = chosen<Labels>(options, "labels",
                              {{"sequence", Labels::sequence},
                               {"tokens", Labels::tokens},
                               {"multi_label", Labels::multi_label},
                               {"numbers", Labels::numbers},
                               {"masked", Labels::masked}});
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
  source.has_own = [options](Split split) {
    return split == Split::train || !get_string(options, to_string(split)).empty();
  };
  return row_task(std::move(source), std::move(row), seed);
}

}  // namespace

TaskEntry files_task() {
  return {"files",        "Learn from your own CSV, TSV, JSON Lines, HDF5 or NumPy files.",
          option_table(), {},
          make,           "What the data needs; docs/your-data.md explains the keys."};
}

}  // namespace xgrad

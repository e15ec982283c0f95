// Task `files`: rows of user files. Inputs are words, characters, numbers or graphs. Targets are a
// label, several labels, numbers, a label for each token, or hidden tokens.
#include <sstream>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/tables/row_task.hpp>

namespace xgrad {

template <class Names>
static OptionSpec choice(const char* name, const char* help, const Names& choices) {
  return {.name = name,
          .fallback = std::string(choices[0]),
          .help = help,
          .choices = {choices.begin(), choices.end()}};
}

static std::vector<OptionSpec> option_table() {
  return {
      file_option("train", "File of the training rows, or folder of npy files."),
      file_option("validation",
                  "File or folder of the validation rows; empty: a tenth of the training file, "
                  "chosen by a hash of the input."),
      file_option("test",
                  "File or folder of the test rows; empty: another tenth of the training file."),
      choice("format",
             "File format; auto chooses by the extension. lines, paragraphs: plain text, with a "
             "row for each line or paragraph.",
             std::array{"auto", "csv", "tsv", "jsonl", "lines", "paragraphs", "hdf5", "npy"}),
      {"input", "text",
       "Input column; with tokens = numbers also several columns, separated by commas."},
      {"target", "label", "Column of the labels, or of the numbers to predict."},
      {"edges", "",
       "Column of the edges of graphs, such as 0-1 1-2; empty: inputs are not graphs."},
      choice("tokens",
             "Kind of token. words: a word, between white space or in a list; plain_words: a word "
             "in lower case, without punctuation; word_pairs: plain words and, after each, a "
             "token for its pair with the next word; characters: a character; numbers: a number "
             "or a vector of numbers.",
             kTokenKinds),
      choice("labels",
             "Kind of target. sequence: one label for each row; tokens: one label for each token; "
             "multi_label: any number of labels for each row, a yes or no for each class; numbers: "
             "numbers for each row; masked: the hidden tokens of the input; next: the next token "
             "of the input at each place. masked and next need no labels.",
             kLabels),
      {"vocabulary", 0, "Maximum vocabulary size; the most frequent tokens are kept. 0: no limit.",
       0, 1 << 24},
      {"min_count", 1, "Minimum count in the training rows: rarer tokens become <unk>.", 1, 1e9},
      unknown_option(),
      {"lowercase", false, "Converts the input to lower case, in all alphabets of Unicode."},
      {"max_length", 0,
       "Maximum tokens in a row; 0: the number in the longest row of the training file. With "
       "labels = next, the end of a row counts as a token.",
       0, 65536},
      choice("longer",
             "Rows of more than max_length tokens. error: end with an error; cut: keep the first "
             "max_length tokens; with labels = next, cut into pieces that all become examples.",
             std::array{"error", "cut"}),
      {"masked", 0.15, "With labels = masked: fraction of the tokens to hide.", above(0), below(1)},
  };
}

/// Splits a list of column names, such as "height, width".
static std::vector<std::string> column_names(const std::string& text) {
  std::vector<std::string> names;
  std::istringstream parts(text + ",");
  for (std::string name; std::getline(parts, name, ',');) {
    name.erase(0, name.find_first_not_of(' '));
    name.erase(name.find_last_not_of(' ') + 1);
    check<ConfigError>(!name.empty(), "task.input: a column has no name");
    names.push_back(name);
  }
  return names;
}

static void check_options(const RowOptions& row) {
  const bool numbers = row.tokens == TokenKind::numbers;
  check<ConfigError>(numbers || row.inputs.size() == 1,
                     "task.input: several columns need task.tokens = \"numbers\"");
  check<ConfigError>(!numbers || !row.lowercase,
                     "task.lowercase: needs text, not task.tokens = \"numbers\"");
  const bool itself = row.labels == Labels::masked || row.labels == Labels::next;
  check<ConfigError>(
      !itself || row.tokens == TokenKind::words || row.tokens == TokenKind::characters,
      "task.labels: \"", kLabels[std::size_t(row.labels)],
      "\" needs task.tokens = \"words\" or \"characters\"");
  check<ConfigError>(
      row.labels != Labels::tokens || row.tokens != TokenKind::word_pairs,
      "task.labels: \"tokens\" needs a label for each token, which pairs of words do not have");
  check<ConfigError>(row.labels != Labels::next || row.edges.empty(),
                     "task.labels: \"next\" needs texts, not graphs");
  check<ConfigError>(
      !row.cut || row.edges.empty(),
      "task.longer: graphs cannot be cut, because their edges may join the tokens cut off");
}

static RowOptions row_options(const Options& options) {
  RowOptions row{.inputs = column_names(get_string(options, "input")),
                 .target = get_string(options, "target"),
                 .edges = get_string(options, "edges"),
                 .tokens = named<TokenKind>(kTokenKinds, get_string(options, "tokens")),
                 .labels = named<Labels>(kLabels, get_string(options, "labels")),
                 .vocabulary = get_size(options, "vocabulary"),
                 .min_count = get_size(options, "min_count"),
                 .max_length = get_size(options, "max_length"),
                 .cut = get_string(options, "longer") == "cut",
                 .lowercase = get_bool(options, "lowercase"),
                 .unknown = get_double(options, "unknown"),
                 .masked = get_double(options, "masked")};
  check_options(row);
  return row;
}

static std::unique_ptr<Task> make(const Options& options, std::uint64_t seed) {
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

TaskEntry files_task() {
  return {.name = "files",
          .summary = "Learn from your own CSV, TSV, JSON Lines, HDF5 or NumPy files.",
          .options = option_table(),
          .make = make,
          .needs = "A model that suits your data; docs/data-reference.md explains the keys.",
          .theory = "open: it depends on your data",
          .source = "your own files",
          .best = "unknown, because nobody knows the distribution that your files come from"};
}

}  // namespace xgrad

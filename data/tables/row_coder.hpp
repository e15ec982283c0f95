// RowCoder: turns rows of a table into examples. Uses statistics of the training rows, which
// checkpoints store.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <xgrad/data/index.hpp>
#include <xgrad/data/tables/table.hpp>
#include <xgrad/data/task.hpp>

namespace xgrad {

/// The kind of tokens of an input.
enum class TokenKind {
  words,        ///< the words of a text, the items of a list, or whole numbers
  plain_words,  ///< words without punctuation, with ASCII letters in lower case
  word_pairs,   ///< plain words, each followed by its pair with the next word, such as in_the
  characters,
  numbers  ///< vectors or single numbers
};

/// The names of TokenKind, the values of task.tokens.
inline constexpr std::array kTokenKinds = {"words", "plain_words", "word_pairs", "characters",
                                           "numbers"};

/// The enumeration value at the position of `name` in `names`. Requires: `names` contains `name`.
template <class Enum, std::size_t N>
Enum named(const std::array<const char*, N>& names, const std::string& name) {
  return Enum(std::find(names.begin(), names.end(), name) - names.begin());
}

// The functions below throw DataError that starts with `place` if a field has an unsuitable type.

/// Returns the tokens of an input that is not numeric, as views into the field or into `made`. The
/// function writes to `made` if tokens are not parts of the field. Also throws if there is no
/// token, or if a list item has white space.
std::vector<std::string_view> token_texts(const std::string& place, const Field& field,
                                          TokenKind kind, std::string& made);

/// Returns the label of a sequence: a whole number, or text without white space at either end.
std::string sequence_label(const std::string& place, const Field& field);

/// One yes-or-no answer of a row, or a label. For a label, `holds` is true.
struct Answer {
  std::string name;    ///< name of the answer, or the label
  bool holds = false;  ///< true: yes
};

/// Returns the labels of `count` tokens: words of a text, a list of words, or whole numbers.
std::vector<Answer> token_labels(const std::string& place, const Field& field, std::size_t count);

/// Returns the answers in a field. A text or list of words names the answers that are yes, each
/// once; other answers are not returned. Numbers are 1 (yes) or 0 (no), one per answer; the answers
/// are then named 0, 1, 2 and so on.
std::vector<Answer> field_answers(const std::string& place, const Field& field);

/// Returns the numbers of a field, at least one. In a text, white space separates them, and each
/// number is a token.
FieldNumbers field_numbers(const std::string& place, const Field& field);

/// Returns the edges of a graph. The field holds pairs of nodes in [0, nodes), or a text such as
/// "0-1 1-2". It may be empty.
std::vector<std::pair<std::int32_t, std::int32_t>> field_edges(const std::string& place,
                                                               const Field& field,
                                                               std::int32_t nodes);

/// A key of a field: equal fields have equal keys.
std::string key_of(const Field& field);

/// The kind of targets.
enum class Labels {
  sequence,     ///< one label per row
  tokens,       ///< one label per token
  multi_label,  ///< any number of labels per row; each is a yes-or-no answer
  numbers,      ///< numbers as targets
  masked,       ///< no target column: predict hidden tokens from the others
  next          ///< no target column: predict each token from the tokens before it
};
/// The names of Labels, the values of task.labels.
inline constexpr std::array kLabels = {"sequence", "tokens", "multi_label",
                                       "numbers",  "masked", "next"};

/// How rows become examples. The columns of a table are the inputs, then the target unless labels
/// are masked or next, then the edges of graphs.
struct RowOptions {
  /// Input columns. If there are several, each holds one number per row and becomes one token.
  std::vector<std::string> inputs = {"text"};
  std::string target = "label";         ///< target column
  std::string edges = {};               ///< column of edges; empty: no graphs
  TokenKind tokens = TokenKind::words;  ///< kind of tokens
  Labels labels = Labels::sequence;     ///< kind of labels
  std::size_t vocabulary = 0;           ///< maximum size of the vocabulary; 0: no limit
  std::size_t min_count = 1;            ///< minimum count: rarer tokens become kUnknown
  std::size_t max_length = 0;           ///< maximum tokens per row; 0: longest row read by learn()
  /// Whether to cut longer rows into pieces of max_length tokens; else longer rows are an error.
  /// Labels::next makes an example of every piece; other kinds of labels keep only the first piece.
  bool cut = false;
  std::string other = {};  ///< class for labels not in the training rows; empty: they are an error
  bool lowercase = false;  ///< whether to convert inputs to lower case
  /// If above 0: in training, a token that occurs n times in the training rows becomes kUnknown
  /// with probability max(unknown, 1 / (2n)).
  double unknown = 0;
  double masked = 0.15;  ///< fraction of tokens to hide, for Labels::masked

  /// The columns to read, in the order that RowCoder expects.
  std::vector<std::string> columns() const;
};

inline constexpr const char* kMask = "<mask>";  ///< a hidden token, in a line of text
inline constexpr std::int32_t kMaskId = 1;      ///< token id of kMask, for Labels::masked

/// Message for a file whose fingerprint changed.
inline constexpr const char* kChanged = ": has changed since this run began";

/// Statistics of the training rows, used to encode all rows. Checkpoints store them.
struct VocabularyAndScales {
  std::uint64_t fingerprint = 0;              ///< hash of the training file
  std::size_t max_length = 0;                 ///< largest number of tokens in a row
  std::vector<std::string> tokens = {};       ///< tokens by id; the first is kUnknown
  std::vector<std::string> classes = {};      ///< class names by id
  std::size_t features = 0;                   ///< size of a vector, for vector inputs
  std::vector<double> mean = {};              ///< mean of each feature, or of each input column
  std::vector<double> deviation = {};         ///< standard deviation of each feature or column
  std::vector<double> target_mean = {};       ///< mean of each numeric target
  std::vector<double> target_deviation = {};  ///< standard deviation of each numeric target
  /// Fingerprints of the other files that the run read, by path.
  std::map<std::string, std::uint64_t> files = {};
  /// Compares all members.
  friend bool operator==(const VocabularyAndScales&, const VocabularyAndScales&) = default;
};

/// Sorts the class names, which are the keys of `counts`: by value if all are whole numbers, else
/// in byte order.
std::vector<std::string> class_order(const std::map<std::string, std::size_t>& counts);

/// Records the fingerprint of a file in `files`. Throws DataError when `files` has a different
/// fingerprint of this file: the scores of the run would mix two data sets.
void recognise(std::map<std::string, std::uint64_t>& files, const std::string& path,
               std::uint64_t fingerprint);

/// The statistics as JSON, for a checkpoint.
std::string to_json(const VocabularyAndScales& learned);
/// Parses to_json(). Throws CheckpointError on anything else.
VocabularyAndScales vocabulary_and_scales_from_json(const std::string& text);

/// Turns rows into examples, and lines of text into inputs.
class RowCoder {
 public:
  /// `task` is the name of the task. The errors of adopt() and parse() start with it.
  RowCoder(std::string task, RowOptions options);

  /// The options.
  const RowOptions& options() const { return options_; }
  /// Whether learn() or adopt() succeeded.
  bool ready() const { return learned_ != nullptr; }
  /// Whether inputs are vectors.
  bool vectors() const { return options_.tokens == TokenKind::numbers; }
  /// The statistics of the training rows. Requires: ready().
  const VocabularyAndScales& vocabulary_and_scales() const { return *learned_; }

  /// A key of a row's input and edges: rows with equal inputs and edges have equal keys.
  std::string key(const Table& table, std::size_t row) const;
  /// Learns vocabulary, classes and scales from the rows for which `is_training` returns true. In
  /// the same pass, checks all rows for errors and finds the longest row. Throws DataError.
  void learn(const Rows& rows,
             const std::function<bool(const Table& block, std::size_t row)>& is_training);
  /// Restores vocabulary_and_scales(). Throws CheckpointError if `learned` does not fit the
  /// options.
  void adopt(VocabularyAndScales learned);

  /// Returns the sizes of examples. Requires: ready().
  TaskShape shape() const;
  /// Turns a row into an example; for Labels::next, a long row into several. Requires: ready().
  /// Throws DataError.
  std::vector<Example> encode(const Table& table, std::size_t row) const;
  /// Parses a line as an input: words, characters or numbers; `<mask>` is a hidden token. For
  /// graphs, the line also has a tab and the edges, or it is a JSON object with a member for each
  /// input column and for the edges. Requires: ready(). Throws DataError.
  ///
  /// For Labels::next, the line is the beginning of a text. The example is kEnd and the tokens of
  /// the line, without targets. A token that is not in the vocabulary is an error.
  Example parse(const std::string& line) const;

 private:
  // Storage for tokens that are not views into the original field.
  struct Made {
    Field field = {};
    std::string text = {};
  };
  struct Learning;
  // Returns the place of a number in its row, for messages; the argument is the number's index.
  using Places = std::function<std::string(std::size_t number)>;

  bool masked() const { return options_.labels == Labels::masked; }
  bool next() const { return options_.labels == Labels::next; }
  bool has_target() const { return !masked() && !next(); }
  const char* special() const;
  std::size_t least_classes() const;
  std::size_t target_column() const { return options_.inputs.size(); }
  FieldNumbers numbers(const Table& table, std::size_t row) const;
  std::vector<Answer> labels(const Table& table, std::size_t row, std::size_t tokens) const;
  std::vector<std::string_view> tokens(const std::string& place, const Field& field,
                                       Made& made) const;
  void check_length(const std::string& place, std::size_t count) const;
  void add_tokens(const std::string& place, const std::vector<std::string_view>& texts,
                  Example& example) const;
  void add_vectors(const Places& place, const FieldNumbers& numbers, Example& example) const;
  void add_target(const Table& table, std::size_t row, std::size_t tokens, Example& example) const;
  std::int32_t class_of(const std::string& place, const std::string& name) const;
  std::int32_t nodes(const Example& example) const;
  std::size_t add_input(const Table& table, std::size_t row, Example& example) const;
  Example parse_nodes(const std::string& line) const;
  Example parse_beginning(const std::string& line) const;

  std::string task_;
  RowOptions options_;
  std::unique_ptr<const VocabularyAndScales> learned_;
  Index<std::string> token_ids_, class_ids_;
};

}  // namespace xgrad

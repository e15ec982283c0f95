// RowCoder: how rows of a table become examples, and what must be known of the training rows for
// it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <xgrad/data/tables/fields.hpp>
#include <xgrad/data/tables/learned.hpp>
#include <xgrad/data/tables/table.hpp>
#include <xgrad/data/tables/text_index.hpp>
#include <xgrad/data/task.hpp>

namespace xgrad {

/// What is to be said of a row.
enum class Labels {
  sequence,     ///< a row has one label
  tokens,       ///< a row has a label for each token
  multi_label,  ///< a row has any number of labels: each is an answer, yes or no
  numbers,      ///< a row has numbers as targets
  masked        ///< a row has none: hidden tokens are to be told from those around them
};

/// How rows become examples. Their columns are those of the input, the target unless it is masked,
/// and the edges of a graph.
struct RowOptions {
  std::vector<std::string> inputs = {"text"};  ///< several are numbers, a token each
  std::string target = "label";                ///< the column of the labels
  std::string edges = {};                      ///< empty: rows are no graphs
  TokenKind tokens = TokenKind::words;         ///< what a token is
  Labels labels = Labels::sequence;            ///< what a label is
  std::size_t vocabulary = 0;                  ///< different tokens at most; 0: all
  std::size_t min_count = 1;   ///< times that a token must come in the training rows to be known
  std::size_t max_length = 0;  ///< tokens of the longest row; 0: of the longest one read
  bool cut = false;            ///< longer rows are cut; else they are an error
  std::string other = {};  ///< class of labels that no training row has; empty: they are an error
  bool lowercase = false;  ///< capital letters of inputs are made small
  double unknown = 0;      ///< least probability that a training token becomes kUnknown
  double masked = 0.15;    ///< part of the tokens that is hidden, where they are masked

  /// Of a table, in their order.
  std::vector<std::string> columns() const;
};

inline constexpr const char* kMask = "<mask>";  ///< a hidden token in a line of text
inline constexpr std::int32_t kMaskId = 1;      ///< stands for a hidden token

/// Turns rows into examples, and lines of text into inputs.
class RowCoder {
 public:
  /// `task` stands before messages about a line of text.
  RowCoder(std::string task, RowOptions options);

  /// What it was made with.
  const RowOptions& options() const { return options_; }
  /// Whether it has learned, or taken over what was.
  bool ready() const { return learned_ != nullptr; }
  /// Whether tokens are vectors.
  bool vectors() const { return options_.tokens == TokenKind::numbers; }
  /// Requires: ready().
  const Learned& learned() const { return *learned_; }

  /// What tells the input of a row, with its edges, from another: equal inputs have equal keys.
  std::string key(const Table& table, std::size_t row) const;
  /// Takes vocabulary, classes and scale from the training rows, in one pass. All rows are looked
  /// at for what is wrong with them and for the longest. Throws DataError.
  void learn(const Rows& rows,
             const std::function<bool(const Table& block, std::size_t row)>& is_training);
  /// Takes over what was learned. Throws CheckpointError when it does not suit the options.
  void adopt(Learned learned);

  // What follows requires ready().
  /// The sizes of examples. Requires: ready().
  TaskShape shape() const;
  /// Throws DataError.
  Example encode(const Table& table, std::size_t row) const;
  /// A line of text as an input: words, characters or numbers; of graphs these, a tab and the
  /// edges, or an object of JSON. `<mask>` stands for a hidden token. Throws DataError.
  Example parse(const std::string& line) const;

 private:
  // What the tokens of a field may be parts of beside the field itself.
  struct Made {
    Field field = {};
    std::string text = {};
  };
  struct Learning;
  using Places = std::function<std::string(std::size_t number)>;  // where a number of a row stands

  bool masked() const { return options_.labels == Labels::masked; }
  std::size_t least_classes() const;
  std::size_t target_column() const { return options_.inputs.size(); }
  Numbers numbers(const Table& table, std::size_t row) const;
  std::vector<std::string> labels(const Table& table, std::size_t row, std::size_t tokens) const;
  void count_labels(const Table& table, std::size_t row, std::size_t tokens, Counts& counts) const;
  void learn_row(const Table& block, std::size_t row, bool training, Learning& learning) const;
  std::vector<std::string_view> with_masks(std::string_view line,
                                           std::deque<std::string>& made) const;
  std::vector<std::string_view> tokens(const std::string& place, const Field& field,
                                       Made& made) const;
  void check_length(const std::string& place, std::size_t count) const;
  void add_tokens(const std::string& place, const std::vector<std::string_view>& texts,
                  Example& example) const;
  void add_vectors(const Places& place, const Numbers& numbers, Example& example) const;
  void add_target(const Table& table, std::size_t row, std::size_t tokens, Example& example) const;
  std::int32_t class_of(const std::string& place, const std::string& name) const;
  void add_answers(const std::string& place, const Field& field, Example& example) const;
  std::int32_t nodes(const Example& example) const;
  void add_edges(const Table& table, std::size_t row, Example& example) const;
  std::size_t add_input(const Table& table, std::size_t row, Example& example) const;
  Example parse_nodes(const std::string& line) const;
  void check_classes(const std::string& file, std::vector<std::string>& classes) const;

  std::string task_;
  RowOptions options_;
  std::unique_ptr<const Learned> learned_;
  TextIndex token_ids_, class_ids_;
};

}  // namespace xgrad

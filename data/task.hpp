// Task: a learning problem, with its sizes and its three disjoint data sets. Each example of a data
// set is a pure function of (seed, epoch, index).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/data/options.hpp>

namespace xgrad {

/// A split: one of the three disjoint parts of a task's data.
enum class Split { train, validation, test };
/// "train", "validation" or "test".
const char* to_string(Split split);

/// One example: either `ids` or `features`, with either `targets` or `values`.
struct Example {
  std::vector<std::int32_t> ids = {};  ///< token ids, one per token
  std::vector<float> features = {};    ///< one image (H, W, C) or vectors (N, F), row-major
  /// Classes: one per token, one for the sequence, or the sequence to generate.
  std::vector<std::int32_t> targets = {};
  /// Numeric or binary targets: TaskShape::classes per token or per sequence; NaN = no target.
  std::vector<float> values = {};
  /// Edges of a graph: pairs of token positions, undirected, in any order.
  std::vector<std::pair<std::int32_t, std::int32_t>> edges = {};
};

/// The kind of input.
enum class InputKind { tokens, image, vectors };
/// The kind of output: a target for each token, one for the sequence, or a generated sequence. A
/// generated sequence ends with an end class: the class with the largest id, used nowhere else.
enum class OutputKind { tokens, sequence, generated };
/// The kind of target: one of K classes, K numbers, or K binary answers, yes (1) or no (0).
enum class TargetKind { classes, numbers, binary };
/// "classes", "numbers" or "yes or no".
const char* to_string(TargetKind kind);
/// Whether the targets are the next tokens, as in a language model. If they are: what a token is.
enum class NextToken { none, character, word };

/// The token for out-of-vocabulary words, in tasks that have one.
inline constexpr const char* kUnknown = "<unk>";
/// The id of kUnknown.
inline constexpr std::int32_t kUnknownId = 0;
/// The token before the first and after the last token of a text, for language models.
inline constexpr const char* kEnd = "<end>";
/// The id of kEnd.
inline constexpr std::int32_t kEndId = 1;

/// The sizes a model is built from.
struct TaskShape {
  InputKind input = InputKind::tokens;        ///< kind of input
  OutputKind output = OutputKind::tokens;     ///< kind of output
  std::size_t vocabulary = 0;                 ///< token ids lie in [0, vocabulary)
  std::size_t max_length = 0;                 ///< largest number of tokens or vectors in an example
  std::size_t height = 0;                     ///< height of an image in pixels
  std::size_t width = 0;                      ///< width of an image in pixels
  std::size_t channels = 0;                   ///< channels of an image
  std::size_t classes = 0;                    ///< K, the number of outputs per target
  std::vector<std::string> class_names = {};  ///< class names; empty, or one per class
  /// Token names without spaces; empty, or one per token id.
  std::vector<std::string> token_names = {};
  std::size_t features = 0;  ///< F, the size of each vector
  /// Means in original units: of each feature or, if a row has several input columns, of each
  /// column. Examples hold (number - mean) / deviation. Empty if the task does not scale inputs.
  std::vector<double> input_mean = {};
  std::vector<double> input_deviation = {};  ///< standard deviations; see input_mean
  bool graph = false;                        ///< whether examples have edges
  bool causal = false;  ///< models must be causal: a token contains an earlier token's target
  TargetKind target = TargetKind::classes;  ///< kind of target
  /// Mean of each of the K numeric targets in original units. Examples hold (value - mean) /
  /// deviation. Empty if targets are not scaled.
  std::vector<double> value_mean = {};
  std::vector<double> value_deviation = {};  ///< standard deviations; see value_mean
  std::size_t max_outputs = 0;  ///< longest generated sequence, including its end class
  /// For language models: what a token is. Class c is then token c; kEnd begins and ends a text.
  NextToken next = NextToken::none;
};

/// A sequence of examples.
class Dataset {
 public:
  virtual ~Dataset() = default;
  /// The number of examples.
  virtual std::size_t size() const = 0;
  /// Returns an example. Thread-safe. Only training examples may depend on `epoch`. Requires:
  /// index < size().
  virtual Example get(std::uint64_t epoch, std::size_t index) const = 0;
  /// The number of tokens or vectors of an example, 0 for an image; the same in every epoch.
  /// Thread-safe. The default builds the whole example; override it where the length is cheaper to
  /// get. Requires: index < size(), and `shape` is the shape of the task.
  virtual std::size_t length(std::size_t index, const TaskShape& shape) const;
};

/// Dataset::get() as a function.
using GetExample = std::function<Example(std::uint64_t epoch, std::size_t index)>;
/// Dataset::length() as a function.
using GetLength = std::function<std::size_t(std::size_t index, const TaskShape& shape)>;
/// A data set of `size` examples with these functions. Without `length`, uses Dataset's default.
std::unique_ptr<Dataset> dataset_of(std::size_t size, GetExample get, GetLength length = {});

/// The best score that any model can expect, for tasks whose input does not determine the answer.
struct Ceiling {
  double accuracy = 1;  ///< best accuracy per target; unused for numeric targets
  double loss = 0;      ///< lowest loss per target: cross-entropy in nats, or mean squared error
};

/// The test score of a rule that is fitted by counting: a baseline for trained models.
struct Rule {
  std::string name;                 ///< description of the rule
  double accuracy = 0;              ///< fraction of targets that are right
  double exact = 0;                 ///< fraction of examples with all targets right
  std::optional<double> loss = {};  ///< cross-entropy per target in nats, if the rule has one
};

/// Processes that use the same data at the same time.
struct Readers {
  std::size_t self = 0;  ///< number of this process
  /// All-gather: each process passes its own text and gets the texts of all processes, in the order
  /// of their numbers.
  std::function<std::vector<std::string>(const std::string& own)> tell;
};

/// Lets processes read data once per machine. If several processes of a machine find the same files
/// at these paths, calls `read` in the first of them. Then calls `use` in the others, with the text
/// that `read` returned. If only one process finds them, calls neither. Returns whether it called
/// `use` in this process. All processes must call this function.
///
/// If `read` throws, this function passes the exception on in the first process, and throws
/// DataError with the same message in the machine's other processes. If `use` throws IoError, for
/// example because processes are not allowed to share files, returns false.
bool read_once(const Readers& readers, const std::vector<std::string>& files,
               const std::function<std::string()>& read,
               const std::function<void(const std::string& text)>& use);

/// A learning problem: its sizes, its data, and its text format.
class Task {
 public:
  virtual ~Task() = default;
  /// The sizes of inputs and outputs. If they come from files, throws DataError when the files are
  /// missing or damaged.
  virtual TaskShape shape() const = 0;
  /// Returns the data set of a split. Throws DataError when files are missing, damaged, or differ
  /// from the files that vocabulary_and_scales() recorded.
  virtual std::unique_ptr<Dataset> dataset(Split split) const = 0;
  /// The training examples with their original tokens, for rules fitted by counting. dataset() may
  /// replace some tokens by kUnknown.
  virtual std::unique_ptr<Dataset> whole_training_set() const { return dataset(Split::train); }
  /// Parses a line of input for `xgrad predict`, such as tokens separated by spaces. Adds the right
  /// answer as targets if the task knows it. Throws DataError.
  virtual Example parse(const std::string& line) const = 0;
  /// The text of a token, as `xgrad generate` prints it.
  virtual std::string token_text(std::int32_t id) const;
  /// Baseline rules of this task. Measuring them may take seconds. Throws DataError.
  virtual std::vector<Rule> rules() const { return {}; }
  /// Returns the facts about the data that a trained model needs, such as vocabulary, class names,
  /// and fingerprints of the files read. Checkpoints store them. Empty if there is nothing to
  /// store. Throws DataError.
  virtual std::string vocabulary_and_scales() const { return ""; }
  /// Restores vocabulary_and_scales(), so that shape() and parse() need no data. Throws
  /// CheckpointError when the text is not from a task of this kind.
  virtual void adopt(const std::string& vocabulary_and_scales);
  /// If several processes of a machine use the same files, reads all splits in only one of these
  /// processes, by xgrad::read_once(). The default reads nothing. All processes must call this
  /// function before other functions that read data. Returns whether this process uses the data
  /// that another process read. Throws as dataset().
  virtual bool read_once(const Readers& /*readers*/) { return false; }
  /// The ceiling on a split; empty if it is unknown, or if the input determines the answer.
  virtual std::optional<Ceiling> ceiling(Split) const { return std::nullopt; }
  /// The ceiling on the test split for models that see each token alone, without its position.
  virtual std::optional<Ceiling> token_ceiling() const { return std::nullopt; }
};

/// The name of a token that is a placeholder for an output, as in "0 7 + 3 5 = _ _ _".
inline constexpr const char* kSlot = "_";

/// A task with the inputs of `task`. Its output is the target classes of `task`, in the order of
/// the tokens, followed by an end class. Tokens named kSlot are left out of the inputs, so that
/// they do not tell the length of the output. The returned task knows no ceilings; its rules always
/// get the end class right. If `task` has no class for each token, examples stay as they are.
std::unique_ptr<Task> generated_task(std::unique_ptr<Task> task);

/// An entry in the table of tasks.
struct TaskEntry {
  std::string name;                               ///< name in a config
  std::string summary;                            ///< description in one sentence
  std::vector<OptionSpec> options = {};           ///< keys of [task] besides `name`
  std::vector<std::string> debian_packages = {};  ///< Debian packages with its data
  /// Makes the task. In the entries that tasks() and find_task() return, it first gives missing
  /// options their defaults, and throws ConfigError when an option is wrong.
  std::function<std::unique_ptr<Task>(const Options& options, std::uint64_t seed)> make = {};
  std::string needs = {};  ///< one sentence on what a model needs to solve it
  /// The theory of encoders on this task: a label, a colon and the reason. The labels are:
  /// "solvable" (one layer without positions is enough), "needs positions", "needs depth" (several
  /// layers), "needs positions and depth", "not learnable" (training does not find a solution for
  /// all lengths), and "open" (no theorem is known).
  std::string theory = {};
  std::string source = {};  ///< the paper or data set that it comes from
  std::string best = {};    ///< the best possible score, or why it is unknown
};

/// Returns the entries of all tasks, in alphabetical order.
const std::vector<TaskEntry>& tasks();
/// Returns the entry of a task. Throws ConfigError that lists the known names, the nearest first.
const TaskEntry& find_task(const std::string& name);
/// Registers a task of the host program; call it before parsing a config. Not thread-safe.
/// Invalidates references to entries. Throws ConfigError when the name is taken.
void add_task(TaskEntry entry);

}  // namespace xgrad

// Task: what is to be learned. A task names its sizes and makes its three disjoint data sets.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <xgrad/data/dataset.hpp>
#include <xgrad/data/options.hpp>

namespace xgrad {

/// What an input is.
enum class InputKind { tokens, image, vectors };
/// A target for each token, one for the sequence, or a sequence whose length the model decides: it
/// ends with the last class, which stands nowhere else.
enum class OutputKind { tokens, sequence, generated };
/// What a target is: one of K classes, K numbers, or K answers that are each yes (1) or no (0).
enum class TargetKind { classes, numbers, binary };
/// classes, numbers or binary.
const char* to_string(TargetKind kind);

/// The token that stands for every token out of the vocabulary, where a task has one.
inline constexpr const char* kUnknown = "<unk>";
/// Its id.
inline constexpr std::int32_t kUnknownId = 0;

/// The sizes a model is built from.
struct TaskShape {
  InputKind input = InputKind::tokens;        ///< what an input is
  OutputKind output = OutputKind::tokens;     ///< what an output is
  std::size_t vocabulary = 0;                 ///< token ids lie in [0, vocabulary)
  std::size_t max_length = 0;                 ///< tokens (or vectors) of the longest example
  std::size_t height = 0;                     ///< of an image
  std::size_t width = 0;                      ///< of an image
  std::size_t channels = 0;                   ///< of an image
  std::size_t classes = 0;                    ///< K: what a model puts out for a target
  std::vector<std::string> class_names = {};  ///< empty, or one a class
  std::vector<std::string> token_names = {};  ///< empty, or one a token id: words without spaces
  std::size_t features = 0;                   ///< F, of each of the vectors
  bool graph = false;                         ///< examples have edges
  TargetKind target = TargetKind::classes;    ///< what a target is
  /// Of target numbers that examples have less this mean and divided by the deviation, K each;
  /// empty: they are as they came.
  std::vector<double> value_mean = {};
  std::vector<double> value_deviation = {};  ///< see value_mean
  std::size_t max_outputs = 0;  ///< classes of the longest generated output, its end included
};

/// The best that any model can reach, in expectation, where an input does not fix the answer.
struct Ceiling {
  double accuracy = 1;  ///< of targets; not of numbers
  double loss = 0;      ///< per target: cross-entropy in nats, of numbers the mean square error
};

/// What a rule reaches on the test split that is fitted by counting, for a model to be held
/// against.
struct Rule {
  std::string name;     ///< in words
  double accuracy = 0;  ///< of targets
  double exact = 0;     ///< of examples whose targets are all right
};

/// Something to be learned: its sizes, its data, and how people write it.
class Task {
 public:
  virtual ~Task() = default;
  /// Sizes of inputs and outputs.
  virtual TaskShape shape() const = 0;
  /// Throws DataError when files are missing or damaged, or are not those of what was adopted.
  virtual std::unique_ptr<Dataset> dataset(Split split) const = 0;
  /// An input line as `xgrad predict` reads it (tokens separated by spaces, say), with the right
  /// answer as targets where the task knows it. Throws DataError.
  virtual Example parse(const std::string& line) const = 0;
  /// Rules of this task's own; measuring them may take seconds. Throws DataError.
  virtual std::vector<Rule> rules() const { return {}; }
  /// What was taken from the data and belongs to a trained model, as vocabulary and class names do,
  /// and fingerprints of the files that were read; a checkpoint keeps it. Empty where there is
  /// nothing. Throws DataError.
  virtual std::string learned() const { return ""; }
  /// Takes that over, so that shape() and parse() need no data. Throws CheckpointError when it is
  /// not what learned() gives.
  virtual void adopt(const std::string& learned);
  /// What is reachable on a split where that is known and not simply everything.
  virtual std::optional<Ceiling> ceiling(Split) const { return std::nullopt; }
  /// The same of the test split for models that see each token by itself, without its place.
  virtual std::optional<Ceiling> token_ceiling() const { return std::nullopt; }
};

/// A row of the table of tasks.
struct TaskEntry {
  std::string name;                          ///< what a config calls it
  std::string summary;                       ///< one sentence
  std::vector<OptionSpec> options;           ///< the keys of [task] beside `name`
  std::vector<std::string> debian_packages;  ///< data it reads
  /// Missing options take their defaults. Throws ConfigError when options are wrong.
  std::function<std::unique_ptr<Task>(const Options& options, std::uint64_t seed)> make;
  std::string needs = {};  ///< one sentence: what a model must have to solve it
};

/// All tasks, in alphabetical order.
const std::vector<TaskEntry>& tasks();
/// Throws ConfigError that lists the known names, the nearest first.
const TaskEntry& find_task(const std::string& name);
/// Adds a task of the host program, before it parses a config. Not thread-safe; references to
/// entries are lost. Throws ConfigError when the name is taken.
void add_task(TaskEntry entry);

}  // namespace xgrad

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

enum class InputKind { tokens, image };
enum class OutputKind { tokens, sequence };  ///< a class for each token, or one for the sequence

/// The sizes a model is built from.
struct TaskShape {
  InputKind input = InputKind::tokens;
  OutputKind output = OutputKind::tokens;
  std::size_t vocabulary = 0;                       ///< token ids lie in [0, vocabulary)
  std::size_t max_length = 0;                       ///< tokens of the longest example
  std::size_t height = 0, width = 0, channels = 0;  ///< of an image
  std::size_t classes = 0;
  std::vector<std::string> class_names = {};  ///< empty, or one a class
  std::vector<std::string> token_names = {};  ///< empty, or one a token id: words without spaces
};

/// The best that any model can reach, in expectation, where an input does not fix the answer.
struct Ceiling {
  double accuracy = 1;  ///< of targets
  double loss = 0;      ///< cross-entropy, nats per target
};

class Task {
 public:
  virtual ~Task() = default;
  virtual TaskShape shape() const = 0;
  /// Throws DataError when files are missing or damaged.
  virtual std::unique_ptr<Dataset> dataset(Split split) const = 0;
  /// An input line as `xgrad predict` reads it (tokens separated by spaces, say), with the right
  /// answer as targets where the task knows it. Throws DataError.
  virtual Example parse(const std::string& line) const = 0;
  /// What is reachable on a split where that is known and not simply everything.
  virtual std::optional<Ceiling> ceiling(Split) const { return std::nullopt; }
};

/// A row of the table of tasks.
struct TaskEntry {
  std::string name;
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

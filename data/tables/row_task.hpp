// A task with rows of a table as examples. Vocabulary and class names come from the training rows.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <xgrad/data/tables/row_coder.hpp>

namespace xgrad {

/// The source of the rows.
struct RowSource {
  std::string task;  ///< name of the task
  /// Returns the rows of a split: the training split, or another split that has its own rows.
  std::function<Rows(Split split)> read;
  /// The files and folders that `read` reads. Ranks on one machine read them once, see read_once().
  std::vector<std::string> files = {};
  /// Whether a split has its own rows. A split without own rows gets a tenth of the training rows.
  std::function<bool(Split split)> has_own = [](Split split) { return split == Split::train; };
  /// A key that decides the split of a row: rows with equal keys are in the same split. Empty: the
  /// input is the key.
  std::function<std::string(const Table& table, std::size_t row)> key = {};
  /// Baseline rules; see Task::rules(). Empty: n-grams for language models, naive Bayes for token
  /// inputs with one or several labels per row.
  std::function<std::vector<Rule>(const Dataset& train, const Dataset& test)> rules = {};
};

/// Returns the split of a key, by a hash. Test and validation each get a tenth of all keys.
Split split_of_key(const std::string& key);

/// The option `unknown` sets RowOptions::unknown, by default 0.01. 0: training replaces no token.
OptionSpec unknown_option();

/// Makes a task from rows. Its methods throw DataError.
std::unique_ptr<Task> row_task(RowSource source, RowOptions options, std::uint64_t seed);

}  // namespace xgrad

// A task whose examples are rows of text with labels: vocabulary and class names come from its
// training rows.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <xgrad/data/tables/row_coder.hpp>

namespace xgrad {

/// Where rows come from.
struct RowSource {
  std::string task;  ///< its name
  /// The rows of a split. Called once for each split that has its own, and for the training split.
  std::function<Rows(Split split)> read;
  /// Whether a split has rows of its own; those without get a tenth of the training rows each.
  std::function<bool(Split split)> has_own = [](Split split) { return split == Split::train; };
  /// What decides which split a row belongs to: rows of one key are never in two. Empty: the input.
  std::function<std::string(const Table& table, std::size_t row)> key = {};
  /// Rules that need no training; see Task::rules(). Empty: naive Bayes, where a text has one label
  /// or several.
  std::function<std::vector<Rule>(const Dataset& train, const Dataset& test)> rules = {};
};

/// The split that a key belongs to, by a hash: a tenth of all keys each to test and validation.
Split split_of_key(const std::string& key);

/// The task of rows that become examples. Throws DataError.
std::unique_ptr<Task> row_task(RowSource source, RowOptions options, std::uint64_t seed);

}  // namespace xgrad

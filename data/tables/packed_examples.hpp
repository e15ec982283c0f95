// PackedExamples: any number of examples, stored compactly in memory or in temporary files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <xgrad/data/task.hpp>
#include <xgrad/storage/disk/temporary.hpp>

namespace xgrad {

/// Examples in the order of add(). An example is a record of numbers of four bytes:
///
///     5 counts | ids | targets | features | values | edges, two numbers each
///
/// Two Scratch objects (temporary.hpp) hold the records and the offset at which each record ends.
class PackedExamples {
 public:
  PackedExamples() = default;
  /// Examples that another process holds; `shared` is what its share() returned. Throws IoError.
  explicit PackedExamples(const std::string& shared)
      : records_(shared.substr(0, shared.find(','))), ends_(shared.substr(shared.find(',') + 1)) {}

  /// Appends an example. Throws IoError if it cannot be written. Requires: finish() was not called.
  void add(const Example& example) {
    Counts counts;
    auto count = counts.begin();
    for_each_list(example, [&](const auto& list) { *count++ = std::uint32_t(list.size()); });
    records_.append(counts.data(), sizeof counts);
    for_each_list(example, [&](const auto& list) {
      records_.append(list.data(), list.size() * sizeof list[0]);
    });
    const std::size_t end = records_.size();
    ends_.append(&end, sizeof end);
  }
  /// Ends the writing. Call it before the functions below. Throws IoError.
  void finish() {
    records_.finish();
    ends_.finish();
  }

  /// The number of examples.
  std::size_t size() const { return ends_.size() / sizeof(std::size_t); }
  /// Returns an example. Requires: index < size().
  Example get(std::size_t index) const {
    const char* at = record(index);
    const Counts counts = counts_at(at);
    at += sizeof counts;
    Example example;
    auto count = counts.begin();
    for_each_list(example, [&](auto& list) {
      list.resize(*count++);
      const std::size_t bytes = list.size() * sizeof list[0];
      if (bytes > 0) std::memcpy(static_cast<void*>(list.data()), at, bytes);
      at += bytes;
    });
    return example;
  }
  /// The number of tokens or vectors of an example, found without building it. Requires: index <
  /// size(), and no images.
  std::size_t length(std::size_t index, const TaskShape& shape) const {
    const Counts counts = counts_at(record(index));
    return shape.input == InputKind::vectors ? counts[2] / shape.features : counts[0];
  }
  /// Returns a text without line breaks. From this text, other processes of this user on
  /// this machine can construct the same examples while this object lives. Throws IoError.
  std::string share() { return records_.share() + ',' + ends_.share(); }

 private:
  using Counts = std::array<std::uint32_t, 5>;  // sizes of the lists of an example

  // The lists of an example, in the order of a record.
  template <class AnExample, class Visit>
  static void for_each_list(AnExample& example, const Visit& visit) {
    visit(example.ids);
    visit(example.targets);
    visit(example.features);
    visit(example.values);
    visit(example.edges);
  }
  static Counts counts_at(const char* record) {
    Counts counts;
    std::memcpy(counts.data(), record, sizeof counts);
    return counts;
  }
  const char* record(std::size_t index) const {
    std::size_t begin = 0;
    if (index > 0) std::memcpy(&begin, ends_.data() + (index - 1) * sizeof begin, sizeof begin);
    return records_.data() + begin;
  }

  Scratch records_, ends_;
};

}  // namespace xgrad

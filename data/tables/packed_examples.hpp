// PackedExamples: any number of examples, compact, in memory that the system can take back.
#pragma once

#include <cstddef>
#include <string>

#include <xgrad/data/dataset.hpp>
#include <xgrad/storage/disk/temporary.hpp>

namespace xgrad {

/// Examples in the order of add(). An example is a record of numbers of four bytes:
///
///     5 counts | ids | targets | features | values | edges, two numbers each
///
/// Records and the places where they end are in scratch files (scratch.hpp).
class PackedExamples {
 public:
  PackedExamples() = default;
  /// The examples of another process; `shared` is what its share() returned. Throws IoError.
  explicit PackedExamples(const std::string& shared);

  /// Appends an example. Throws IoError if it cannot be written. Requires: finish() was not called.
  void add(const Example& example);
  /// Ends the writing. The other functions require it. Throws IoError.
  void finish();

  /// The number of examples.
  std::size_t size() const { return ends_.size() / sizeof(std::size_t); }
  /// Returns an example. Requires: index < size().
  Example get(std::size_t index) const;
  /// The number of tokens or vectors of an example, found without building it. Requires: index <
  /// size(), and no images.
  std::size_t length(std::size_t index, const TaskShape& shape) const;
  /// Returns a text without line breaks with which other processes of this machine can use the
  /// examples while this object lives. Throws IoError.
  std::string share() { return records_.share() + ',' + ends_.share(); }

 private:
  const char* record(std::size_t index) const;

  Scratch records_, ends_;
};

}  // namespace xgrad

// EventFile: an event file, which TensorBoard can read during the run.
//
// It is a sequence of records, each handed to the system whole:
//
//   u64 length | u32 masked CRC32C of the length | an Event | u32 masked CRC32C of the Event
//
// Integers are little-endian, and mask(c) = (c >> 15 | c << 17) + 0xa282ead8. events.proto defines
// Event.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <xgrad/storage/disk/folder.hpp>
#include <xgrad/storage/formats/png.hpp>
#include <xgrad/train/run/histogram.hpp>

namespace xgrad {

class EventFile {
 public:
  using Setting = std::variant<bool, double, std::string>;

  /// Creates a file in the directory, with a name that TensorBoard recognises. Every function of
  /// this class can throw IoError.
  explicit EventFile(const Folder& directory);

  /// Marks that the run resumes from this step. TensorBoard then hides events of this and later
  /// steps in older files of the directory.
  void restart(std::uint64_t step);
  void scalars(std::uint64_t step, const std::vector<std::pair<std::string, double>>& values);
  void histograms(std::uint64_t step, const std::vector<std::pair<std::string, Histogram>>& values);
  void images(std::uint64_t step, const std::vector<std::pair<std::string, Picture>>& values);
  /// Adds a text in Markdown.
  void text(std::uint64_t step, const std::string& tag, const std::string& markdown);
  /// Adds the hyperparameters, and the tags of the scalars to compare runs by.
  void settings(const std::vector<std::pair<std::string, Setting>>& settings,
                const std::vector<std::string>& metrics);
  /// Marks the run as finished.
  void finish();

 private:
  /// Appends a serialized Event as a record.
  void append(const std::string& event);

  EventFile(const Folder& directory, const std::string& name);

  std::string path_;
  detail::Descriptor file_;
};

/// CRC-32C (Castagnoli), masked as described above.
std::uint32_t masked_crc32c(const std::string& bytes);

}  // namespace xgrad

// EventFile: what TensorBoard reads while a run goes on.
//
// Records, each handed to the system whole:
//
//   u64 length | u32 masked CRC32C of the length | an Event | u32 masked CRC32C of the Event
//
// little-endian, where mask(c) = (c >> 15 | c << 17) + 0xa282ead8; Events as events.proto has them.
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

  /// A new file in the directory, under a name that TensorBoard knows. Throws IoError, as every
  /// function here does.
  explicit EventFile(const Folder& directory);

  /// A run goes on from this step: what older files in the directory have of it and of later ones
  /// is not shown.
  void restart(std::uint64_t step);
  void scalars(std::uint64_t step, const std::vector<std::pair<std::string, double>>& values);
  void histograms(std::uint64_t step, const std::vector<std::pair<std::string, Histogram>>& values);
  void images(std::uint64_t step, const std::vector<std::pair<std::string, Picture>>& values);
  /// Markdown.
  void text(std::uint64_t step, const std::string& tag, const std::string& markdown);
  /// Hyperparameters, and the tags of the scalars by which runs are compared.
  void settings(const std::vector<std::pair<std::string, Setting>>& settings,
                const std::vector<std::string>& metrics);
  /// The run has finished.
  void finish();

 private:
  /// A serialized Event.
  void append(const std::string& event);

  EventFile(const Folder& directory, const std::string& name);

  std::string path_;
  detail::Descriptor file_;
};

/// CRC-32C (Castagnoli), masked as above.
std::uint32_t masked_crc32c(const std::string& bytes);

}  // namespace xgrad

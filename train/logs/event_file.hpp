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

#include <xgrad/storage/disk/folder.hpp>

namespace xgrad {

class EventFile {
 public:
  /// Creates a file in the directory, with a name that TensorBoard recognises. Throws IoError.
  explicit EventFile(const Folder& directory) : EventFile(directory, new_name()) {}
  /// Appends a serialized Event as a record. Throws IoError.
  void append(const std::string& event);

 private:
  static std::string new_name();
  EventFile(const Folder& directory, const std::string& name);

  std::string path_;
  detail::Descriptor file_;
};

/// CRC-32C (Castagnoli), masked as described above.
std::uint32_t masked_crc32c(const std::string& bytes);

}  // namespace xgrad

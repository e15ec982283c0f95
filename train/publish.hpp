// The one way in which xgrad writes a file that matters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace xgrad {

/// Writes `bytes` as `directory`/`name` so that after a crash at any moment the file is either
/// absent or whole: temporary file (O_EXCL), space reserved, written, fsync, read back and
/// compared, renamed without replacement, directory fsync. Throws IoError with path and reason;
/// then nothing of that name was made and no temporary is left.
///
/// A process with a file size limit must ignore SIGXFSZ, as `xgrad` does, to get the IoError
/// instead of the signal.
void publish(const std::string& directory, const std::string& name, std::string_view bytes);

/// The same in place of an older file of that name, if there is one: after a crash at any moment it
/// is the older or the new one, whole. Throws IoError; then it may be either.
void publish_over(const std::string& directory, const std::string& name, std::string_view bytes);

/// What a file holds, or the names in a directory, are on disk when it returns. Throws IoError.
void sync(const std::string& path);

/// What stands in a directory, in no order. Throws IoError.
std::vector<std::string> names_in(const std::string& directory);

/// Removes what publish() left in a directory when it was killed, and returns the paths. Only for
/// who holds the directory's lock: it would take the ground from under a publish() at work. Throws
/// IoError.
std::vector<std::string> sweep_temporaries(const std::string& directory);

/// Reads a whole regular file; never waits on a FIFO. Throws IoError with path and reason.
std::string read_file(const std::string& path);

/// What a file begins and ends with.
struct FileEnds {
  std::string start;       ///< its first bytes
  std::string end;         ///< its last, which may be the same
  std::uint64_t size = 0;  ///< of the whole file
};

/// Reads `most` bytes at either end of a regular file, or all where it is shorter; as read_file().
FileEnds read_ends(const std::string& path, std::size_t most);

}  // namespace xgrad

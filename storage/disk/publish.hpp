// The one way in which xgrad writes a file that matters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <xgrad/storage/disk/folder.hpp>

namespace xgrad {

/// Writes `bytes` as the file `name` of a folder so that after a crash at any moment the file is
/// either absent or whole: temporary file (O_EXCL), space reserved, written, fsync, read back and
/// compared, renamed without replacement, directory fsync. Throws IoError with path and reason;
/// then nothing of that name was made and no temporary is left.
///
/// A process with a file size limit must ignore SIGXFSZ, as `xgrad` does, to get the IoError
/// instead of the signal.
void publish(const Folder& folder, const std::string& name, std::string_view bytes);

/// The same in place of an older file of that name, if there is one: after a crash at any moment it
/// is the older or the new one, whole. Throws IoError; then it may be either. What has the name and
/// is no regular file is refused, and left as it is.
void publish_over(const Folder& folder, const std::string& name, std::string_view bytes);

/// Removes what publish() left in a folder when it was killed, and returns the paths. Only for the
/// holder of the run's lock: it would take the ground from under a publish() at work. Throws
/// IoError.
std::vector<std::string> sweep_temporaries(const Folder& folder);

}  // namespace xgrad

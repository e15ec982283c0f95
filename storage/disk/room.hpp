// Checks for free disk space before a run writes its checkpoints.
#pragma once

#include <cstddef>
#include <string>

namespace xgrad {

/// Throws IoError unless the file system of `path` (or of its nearest existing parent) has `bytes`
/// free. The message gives the path, `what`, and both sizes. Does not see quotas.
void check_room(const std::string& path, std::size_t bytes, const std::string& what);

}  // namespace xgrad

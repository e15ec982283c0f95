// Whether a run's checkpoints will have room.
#pragma once

#include <cstddef>
#include <string>

namespace xgrad {

/// Throws IoError, which names the path and both sizes, unless the file system that holds it, or
/// the nearest of its parents that exists, has this much free. A quota is not seen.
void check_room(const std::string& path, std::size_t bytes, const std::string& what);

}  // namespace xgrad

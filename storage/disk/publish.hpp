// Publishes files: crash-safe writing, used for every file that matters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <xgrad/storage/disk/folder.hpp>

namespace xgrad {

/// Writes `bytes` as the file `name` of a folder. After a crash at any moment, the file is either
/// absent or complete. Steps: temporary file (O_EXCL), reserve space, write, fsync, read back and
/// compare, rename without replacement, fsync of the directory. Throws IoError with path and
/// reason; then neither the file nor the temporary exists. Requires: SIGXFSZ is ignored where the
/// size of files is limited.
void publish(const Folder& folder, const std::string& name, std::string_view bytes);
/// The folder of a file's path ("." if the path names none), and the name of the file in it.
std::pair<std::string, std::string> folder_and_name(const std::string& path);
/// publish() for the file at `path`. Also removes temporary files of other processes that were
/// killed while they wrote this file.
void publish_file(const std::string& path, std::string_view bytes);
/// Throws the IoError of publish_file() early, before hours of work: if something is at `path`
/// (even a dangling symbolic link), or if the folder of `path` is missing or not writable.
void check_new(const std::string& path);

/// Throws IoError unless the file system of `path` (or of its nearest existing parent) has `bytes`
/// free. The message gives the path, `what`, and both sizes. Does not see quotas.
void check_room(const std::string& path, std::size_t bytes, const std::string& what);

/// publish_file() in a folder, but replaces an existing regular file of that name. After a crash at
/// any moment, or an IoError, the file is complete, with either its old or its new bytes. If the
/// name is taken by anything but a regular file, throws IoError and changes nothing.
void publish_over(const Folder& folder, const std::string& name, std::string_view bytes);

/// Removes all temporary files that killed processes left, and returns their paths. Throws IoError.
/// Requires: no process publishes here, for example because this process holds the lock of the run.
std::vector<std::string> sweep_temporaries(const Folder& folder);

}  // namespace xgrad

// Folder: a directory held open. xgrad opens every file of a run through it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <xgrad/storage/disk/descriptor.hpp>

namespace xgrad {

class InputFile;

/// A directory held open. It stays the same directory if it is renamed, or if another directory
/// takes its path. Opens regular files only: it does not follow symbolic links, and refuses FIFOs
/// and devices without opening them.
class Folder {
 public:
  /// Opens a directory, following symbolic links in `path`. Implicit, so that functions that take a
  /// folder accept a path. Throws IoError.
  Folder(std::string path);
  Folder(const char* path) : Folder(std::string(path)) {}  ///< opens the directory at `path`
  /// Opens the directory `name` of another folder. Throws IoError, also for a symbolic link.
  Folder(const Folder& above, const std::string& name);

  /// The path used to open it.
  const std::string& path() const { return path_; }
  /// The path of the file `name` in it, for messages.
  std::string path_of(const std::string& name) const { return path_ + "/" + name; }
  /// The descriptor of the directory.
  const detail::Descriptor& descriptor() const { return descriptor_; }
  /// The current path: path(), or an absolute path if the directory was moved.
  std::string present_path() const;

  /// Whether the directory has a regular file of this name. Throws IoError for any other object.
  bool holds(const std::string& name) const;
  /// Whether the directory has a subdirectory of this name. Throws IoError for any other object.
  bool holds_folder(const std::string& name) const;
  /// Throws IoError when the file of this name has another hard link: writing to it would change
  /// the other file too.
  void check_single(const std::string& name) const;
  /// The names of all entries, unordered. Throws IoError.
  std::vector<std::string> names() const;

  /// Opens a regular file with the flags of open(2). Throws IoError.
  detail::Descriptor open(const std::string& name, int flags) const;
  /// Opens a regular file for reading. Throws IoError.
  InputFile input(const std::string& name) const;
  /// Reads a whole regular file. Throws IoError, also if the file has more than `most` bytes.
  std::string read(const std::string& name, std::uint64_t most) const;
  /// Appends a line and a newline, creating the file if needed. Does not sync. Throws IoError.
  void append(const std::string& name, const std::string& line) const;
  /// Truncates a file to `size` bytes. Throws IoError.
  void truncate(const std::string& name, std::size_t size) const;
  /// Flushes a file to disk. Throws IoError.
  void sync(const std::string& name) const;
  /// Flushes the directory entries to disk. Throws IoError.
  void sync() const;

  /// Creates the directory `name` unless it exists. Throws IoError.
  void make_folder(const std::string& name) const;
  /// Removes a file or a symbolic link. Returns false if it did not exist. Throws IoError.
  bool remove(const std::string& name) const;
  /// Renames a file, replacing an existing file `to`. Throws IoError.
  void rename(const std::string& from, const std::string& to) const;

 private:
  std::string path_;
  detail::Descriptor descriptor_;
};

}  // namespace xgrad

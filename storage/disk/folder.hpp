// Folder: a directory that is held open, and the only way in which xgrad opens a file of a run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <xgrad/storage/disk/descriptor.hpp>

namespace xgrad {

/// A directory that is held open. Its files are reached through its descriptor, so they stay those
/// of this directory when somebody renames it or puts another one under its path. Only regular
/// files are opened: a symbolic link is not followed, and a FIFO or a device is refused unopened.
class Folder {
 public:
  /// Opens a directory. Links in `path` are followed: whoever names a path means what it leads to.
  /// Implicit, so that a function that needs a folder can be called with a path. Throws IoError.
  Folder(std::string path);
  Folder(const char* path) : Folder(std::string(path)) {}  ///< the same
  /// Opens the directory `name` of another folder. Throws IoError, also when it is a link.
  Folder(const Folder& above, const std::string& name);

  /// The path by which it was opened.
  const std::string& path() const { return path_; }
  /// The path of a file in it, for messages.
  std::string path_of(const std::string& name) const { return path_ + "/" + name; }
  /// Its descriptor.
  const detail::Descriptor& descriptor() const { return descriptor_; }
  /// Whether its path still leads to it. Throws IoError.
  bool is_at_path() const;

  /// Whether it has a regular file of this name. Throws IoError, which says what it is, when it is
  /// anything else.
  bool holds(const std::string& name) const;
  /// Whether it has a directory of this name. Throws IoError when it is anything else.
  bool holds_folder(const std::string& name) const;
  /// The names in it, in no order. Throws IoError.
  std::vector<std::string> names() const;

  /// Opens a regular file; `flags` as of open(2). Throws IoError.
  detail::Descriptor open(const std::string& name, int flags) const;
  /// Reads a whole regular file. Throws IoError.
  std::string read(const std::string& name) const;
  /// Appends one whole line and hands it to the system; makes the file if there is none. Throws
  /// IoError.
  void append(const std::string& name, const std::string& line) const;
  /// Shortens a file to its first `size` bytes. Throws IoError.
  void truncate(const std::string& name, std::size_t size) const;
  /// The data of a file are on disk when it returns. Throws IoError.
  void sync(const std::string& name) const;
  /// The names in it are on disk when it returns. Throws IoError.
  void sync() const;

  /// Makes the directory `name` unless it is there. Throws IoError.
  void make_folder(const std::string& name) const;
  /// Removes a file, or the link of that name. Throws IoError.
  void remove(const std::string& name) const;
  /// Gives a file another name, in the place of a file that has it. Throws IoError.
  void rename(const std::string& from, const std::string& to) const;

 private:
  std::string path_;
  detail::Descriptor descriptor_;
};

namespace detail {

/// Writes all bytes to a descriptor. Throws IoError with `path`.
void write_all(int fd, std::string_view bytes, const std::string& path);

}  // namespace detail

}  // namespace xgrad

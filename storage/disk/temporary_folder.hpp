// TemporaryFolder: a temporary directory, removed with its owner.
#pragma once

#include <sys/types.h>

#include <string>

namespace xgrad {

/// The folder that the environment variable TMPDIR names, or else `otherwise`.
std::string temporary_place(const std::string& otherwise);

/// Creates an empty directory in TMPDIR (by default /tmp), or in another folder. The
/// destructor removes it with its contents, but only in the process that created it.
class TemporaryFolder {
 public:
  /// Creates it in TMPDIR, by default in /tmp. Throws IoError.
  TemporaryFolder();
  /// Creates it in `above`. Throws IoError.
  explicit TemporaryFolder(const std::string& above);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// Its path.
  const std::string& path() const { return path_; }
  /// The path of the file `name` in it.
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Keeps the directory: the destructor will not remove it.
  void keep() { owner_ = 0; }

 private:
  std::string path_;
  pid_t owner_;
};

}  // namespace xgrad

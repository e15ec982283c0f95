// RunDirectory: the folder that holds all of one run, locked while somebody writes to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <xgrad/storage/disk/folder.hpp>

namespace xgrad {

/// The directory of a run, locked against others.
class RunDirectory {
 public:
  /// Makes the directory of a new run: `chosen` if not empty, else runs/STEM, or the next free
  /// runs/STEM-2, -3, ... Throws IoError when `chosen` holds a run, or anything of a name that a
  /// run writes; LockError when it is in use. A directory that is refused is left as it is.
  static RunDirectory create(const std::string& chosen, const std::string& stem);

  /// Opens an existing run. Throws IoError when it is none, or when what has the name of one of its
  /// files is no regular file; LockError when it is in use.
  static RunDirectory open(const std::string& path);

  /// The path by which it was opened.
  const std::string& path() const { return folder_.path(); }
  /// The directory, in which all of the run is read and written.
  const Folder& folder() const { return folder_; }
  /// The directory of the checkpoints in it.
  const Folder& checkpoints() const { return *checkpoints_; }

  /// Replaces the run's config and notes its digest. Throws IoError.
  void replace_config(const std::string& text) const;
  /// Whether the run's config is that of the last replace_config(), unchanged since.
  bool config_was_replaced() const;

  /// Appends one whole line and hands it to the system. Throws IoError.
  void append(const std::string& file, const std::string& line) const {
    folder_.append(file, line);
  }
  /// Keeps the lines of a log whose "step" is at most `step`, byte for byte: a run goes on from
  /// there. Where it is not `validated` yet, the row of that step's validation goes too.
  void cut_back(const std::string& file, std::uint64_t step, bool validated = true) const;

 private:
  explicit RunDirectory(std::string path);
  /// Throws IoError unless what has the name of a file of a run is a regular file.
  void check_files() const;
  /// Throws IoError when the directory holds a run or what a run would take for its own.
  void check_unused() const;
  void lock();
  /// Makes what is missing, removes what a killed run left, and syncs the names, so that a power
  /// failure takes neither the directory nor the log of a run whose checkpoint it spares.
  void furnish();

  Folder folder_;
  std::optional<Folder> checkpoints_;       // once it is furnished
  std::optional<detail::Descriptor> lock_;  // once it is locked
};

}  // namespace xgrad

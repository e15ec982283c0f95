// RunDirectory: the folder that holds all of one run, locked while somebody writes to it.
#pragma once

#include <cstdint>
#include <string>

#include <xgrad/train/descriptor.hpp>

namespace xgrad {

/// The directory of a run, locked against others.
class RunDirectory {
 public:
  /// Makes the directory of a new run: `chosen` if not empty, else runs/STEM, or the next free
  /// runs/STEM-2, -3, ... Throws IoError when `chosen` holds a run, or a file of a name that a run
  /// writes; LockError when it is in use.
  static RunDirectory create(const std::string& chosen, const std::string& stem);

  /// Opens an existing run. Throws IoError when it is none, LockError when it is in use.
  static RunDirectory open(const std::string& path);

  /// Takes the lock over.
  RunDirectory(RunDirectory&& other) noexcept;
  ~RunDirectory();

  /// Of the directory.
  const std::string& path() const { return path_; }
  /// Of the resolved config in it.
  std::string config_path() const { return path_ + "/config.toml"; }
  /// Of the directory of checkpoints in it.
  std::string checkpoints() const { return path_ + "/checkpoints"; }

  /// Puts another config in the place of that in it, at once, and notes its digest. Throws IoError.
  void replace_config(const std::string& text) const;
  /// Whether the config in it is the one of the last replace_config(), untouched since.
  bool config_was_replaced() const;

  /// Appends one whole line and hands it to the system. Throws IoError.
  void append(const std::string& file, const std::string& line) const;
  /// The lines of a log are on disk when it returns. Throws IoError.
  void sync_log(const std::string& file) const;
  /// Keeps the lines of a log whose "step" is at most `step`, byte for byte: a run goes on from
  /// there. Where it is not `validated` yet, the row of that step's validation goes too.
  void cut_back(const std::string& file, std::uint64_t step, bool validated = true) const;

 private:
  explicit RunDirectory(std::string path);
  void lock();
  /// Makes what is missing, removes what a killed run left, and syncs the names, so that a power
  /// failure takes neither the directory nor the log of a run whose checkpoint it spares.
  void furnish() const;
  detail::Descriptor open_log(const std::string& file) const;

  std::string path_;
  int lock_ = -1;
};

}  // namespace xgrad

// Certificate: the gradient check of a model, kept as a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <xgrad/storage/disk/folder.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/inspect/gradcheck.hpp>

namespace xgrad {

/// The config that was checked, the program that checked it, and each tensor's worst error.
struct Certificate {
  std::string config;     ///< SHA-256 of the config, without keys that do not change its results
  std::string checked;    ///< the same, also without the keys of its length and its steps
  std::string made_by;    ///< version, compiler and class of the processor
  std::string precision;  ///< train.precision; backward() is checked in double
  ModelCheck check;       ///< result of the check
};

/// Checks the gradients of a config's model. Throws the errors of check_model().
Certificate certify(const Config& config);

/// The certificate as JSON.
std::string to_json(const Certificate& certificate);
/// The certificate in a run's directory, with all that recheck() needs; nothing if there is none.
/// Throws CheckpointError if it is damaged, in a newer format or not the one that the run's
/// manifest lists; IoError.
std::optional<Certificate> read_certificate(const Folder& run);

/// One sentence: whether the check passed, how many tensors, the worst error.
std::string summary(const Certificate& certificate);

/// Checks up to 8 tensors again, each at its worst place. Throws CheckpointError if the certificate
/// is of another config, says that the check failed, or has other derivatives; ConfigError,
/// DataError, IoError. Returns the number of tensors checked.
std::size_t recheck(const Certificate& certificate, const Config& config);

}  // namespace xgrad

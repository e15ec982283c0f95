// Gradient check of the whole model of a config, and the certificate: a file that keeps the result.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <xgrad/autograd/gradcheck/gradcheck.hpp>
#include <xgrad/storage/disk/folder.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// The gradient check of a configured model, and how it was done.
struct ModelCheck {
  GradientReport report;             ///< a row per parameter tensor, and a row for all together
  std::vector<Shape> shapes;         ///< shapes of the parameter tensors, in the order of the rows
  std::vector<std::size_t> lengths;  ///< number of tokens or vectors per example; 0 for images
  std::string arithmetic;            ///< type of the finite differences, "long double" or "double"
  GradcheckOptions options;          ///< tolerances, steps and numbers of probes
};

/// Checks d(loss)/d(parameter) for every parameter tensor of the config's model. The weights come
/// from train.seed and model.init_from. The batch is two training examples: the first, and the next
/// example of another length among the first 64, so that one example is padded; if there is none,
/// the second. Dropout stays on, with the same masks in every evaluation.
///
/// Probes each tensor at 32 random entries (at all entries if it has fewer), and along a random
/// direction through all its entries. Finite differences are computed in long double, with a
/// tolerance of 1e-11 of the tensor's largest gradient. If the matrix products of all probes need
/// more than 2e10 operations (about 15 s), the differences are computed in double, with a tolerance
/// of 1e-8.
///
/// With `places`, probes only these places. `places` maps names of tensors to places, written as
/// GradientRow::place. Throws ConfigError, DataError, IoError.
ModelCheck check_model(Config config, const std::map<std::string, std::string>& places = {});

/// The config that was checked, the program that checked it, and each tensor's worst error.
struct Certificate {
  std::string config;  ///< SHA-256 of the config without execution keys such as train.threads
  /// As `config`, but also without [optim], [schedule], [expect] and the [train] keys for length,
  /// validations and saves. Paths to the run's own data are relative, because the run may move.
  std::string checked;
  std::string made_by;    ///< version, compiler and class of the processor
  std::string precision;  ///< train.precision; the check itself always runs backward() in double
  ModelCheck check;       ///< result of the check
};

/// Checks the gradients of a config's model. `run` is the directory of its run; empty: no run.
/// Throws the errors of check_model().
Certificate certify(const Config& config, const std::string& run = "");

std::string to_json(const Certificate& certificate);  ///< the certificate as JSON
/// Reads the certificate in a run's directory, except members that recheck() does not need. Returns
/// nothing if there is no certificate. Throws IoError, and CheckpointError if the file is damaged,
/// has a newer format, or differs from the SHA-256 in the run's manifest.
std::optional<Certificate> read_certificate(const Folder& run);

/// One sentence: whether the check passed, the number of tensors and the worst error.
std::string sentence(const Certificate& certificate);

/// Checks up to 8 tensors again, each at the place of its worst error in the certificate. Returns
/// the number of these tensors. `config` is the config of the run in the directory `run`. Throws
/// ConfigError, DataError, IoError. Throws CheckpointError if the certificate belongs to another
/// config or a failed check, or if a derivative now differs from the certificate.
std::size_t recheck(const Certificate& certificate, const Config& config, const std::string& run);

}  // namespace xgrad

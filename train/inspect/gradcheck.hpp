// Gradient check of a whole configured model, and its certificate: the check, kept as a file.
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
  GradientReport report;             ///< a row per parameter tensor, and one for all together
  std::vector<Shape> shapes;         ///< shapes of the parameter tensors, in the order of the rows
  std::vector<std::size_t> lengths;  ///< tokens or vectors of each example; 0 for images
  std::string arithmetic;            ///< scalar of the differences: "long double" or "double"
  GradcheckOptions options;          ///< tolerances, steps and numbers of probes
};

/// Checks d(loss)/d(parameter) for every parameter tensor of the config's model, with the weights
/// that train.seed and model.init_from give, on two examples of its task: the first, and the next
/// that differs in length, so that one of them is padded. Keeps the model's dropout (the same masks
/// in every evaluation).
///
/// Each tensor is probed at 32 random entries, or at all if it has no more, and along a random
/// direction through all its entries. The differences are in long double, with a tolerance of 1e-11
/// of the tensor's largest gradient. If that would take more than about 15 s, because the products
/// of all probes have more than 2e10 operations, they are in double, with a tolerance of 1e-8.
///
/// With `places`, probes only the place given for each tensor, as a row of a report names it.
/// Throws ConfigError, DataError, IoError.
ModelCheck check_model(Config config, const std::map<std::string, std::string>& places = {});

/// The config that was checked, the program that checked it, and each tensor's worst error.
struct Certificate {
  std::string config;  ///< SHA-256 of the config, without keys that do not change its results
  /// The same, also without the keys of its length and its steps, and with own_data() in place of
  /// paths, so that the run may move.
  std::string checked;
  std::string made_by;    ///< version, compiler and class of the processor
  std::string precision;  ///< train.precision; backward() is checked in double
  ModelCheck check;       ///< result of the check
};

/// Checks the gradients of a config's model. `run`: the directory of its run, if it has one. Throws
/// the errors of check_model().
Certificate certify(const Config& config, const std::string& run = "");

std::string to_json(const Certificate& certificate);  ///< the certificate as JSON
/// The certificate in a run's directory, as far as recheck() needs it; nothing if there is none.
/// Throws CheckpointError if it is damaged, newer or not what the run's manifest lists; IoError.
std::optional<Certificate> read_certificate(const Folder& run);

/// One sentence: whether the check passed, how many tensors, the worst error.
std::string sentence(const Certificate& certificate);

/// Checks up to 8 tensors again, each at its worst place. `config` is that of the run in `run`.
/// Throws CheckpointError if the certificate is of another config, says that the check failed, or
/// has other derivatives; ConfigError, DataError, IoError. Returns the number of tensors checked.
std::size_t recheck(const Certificate& certificate, const Config& config, const std::string& run);

}  // namespace xgrad

// Gradient check of a whole configured model.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <xgrad/autograd/gradcheck/gradcheck.hpp>
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
ModelCheck check_model(const Config& config, const std::map<std::string, std::string>& places = {});

}  // namespace xgrad

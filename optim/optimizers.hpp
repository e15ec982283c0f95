// The table of optimizers: makes an optimizer from its name in a config.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <xgrad/optim/optimizer.hpp>

namespace xgrad {

/// The names of all optimizers: "adagrad", "adam", "adamw", "lion", "rmsprop", "sgd".
std::vector<std::string> optimizer_names();

/// The members of OptimizerOptions that this optimizer reads, except those common to all: "beta1",
/// ... Throws ConfigError as make_optimizer().
const std::vector<std::string>& optimizer_keys(const std::string& name);

/// Makes the optimizer with this name. Throws ConfigError that lists the names when it is unknown.
template <class T>
std::unique_ptr<Optimizer<T>> make_optimizer(const std::string& name,
                                             const Parameters<T>& parameters,
                                             const OptimizerOptions& options);

}  // namespace xgrad

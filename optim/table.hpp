// The table of optimizers: from the name in a config to an object.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <xgrad/optim/optimizer.hpp>

namespace xgrad {

/// "adagrad", "adam", "adamw", "lion", "rmsprop", "sgd".
std::vector<std::string> optimizer_names();

/// The members of OptimizerSettings that not every optimizer has and that this one reads: "beta1",
/// ... Throws ConfigError as make_optimizer().
const std::vector<std::string>& optimizer_keys(const std::string& name);

/// Makes the optimizer of that name. Throws ConfigError that lists the names when there is none.
template <class T>
std::unique_ptr<Optimizer<T>> make_optimizer(const std::string& name,
                                             const Parameters<T>& parameters,
                                             const OptimizerSettings& settings);

}  // namespace xgrad

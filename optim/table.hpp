// The table of optimizers: from the name in a config to an object.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <xgrad/optim/optimizer.hpp>

namespace xgrad {

/// "adam", "adamw", "sgd", in alphabetical order.
std::vector<std::string> optimizer_names();

/// Makes the optimizer of that name. Throws ConfigError that lists the names when there is none.
template <class T>
std::unique_ptr<Optimizer<T>> make_optimizer(const std::string& name,
                                             const Parameters<T>& parameters,
                                             const OptimizerSettings& settings);

}  // namespace xgrad

// The gradients of a whole configured model, proven.
#pragma once

#include <xgrad/autograd/gradcheck.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// Checks d(loss)/d(parameter) of every parameter tensor of the config's model on a small batch of
/// its task, with its dropout (the same masks in every evaluation) and with padding where examples
/// differ in length; gate 1e-11.
GradientReport check_model(const Config& config);

}  // namespace xgrad

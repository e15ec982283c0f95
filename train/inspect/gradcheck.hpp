// Gradient check of a whole configured model.
#pragma once

#include <xgrad/autograd/gradcheck/gradcheck.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// Checks d(loss)/d(parameter) for every parameter tensor of the config's model on a small batch of
/// its task, with the model's dropout (the same masks in every evaluation) and with padding if
/// examples differ in length. The tolerance is 1e-11.
GradientReport check_model(const Config& config);

}  // namespace xgrad

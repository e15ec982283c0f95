// The initial weights of [model] init.
#pragma once

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad::detail {

/// The rule of model.init, init_std and init_scaled_residuals; empty if they are at their defaults.
///
/// model.init sets the weights of linear layers and the projections of attention, stored as
/// (fan_out, fan_in), to those of torch.nn.init, and their biases to 0. Queries, keys and values
/// are one matrix where they are stored as one. init_scaled_residuals divides weights that end a
/// sublayer by sqrt(n), where n is the number of sublayers of the stack: 2 L in an encoder of L
/// layers, 3 L in a decoder (Radford et al. 2019).
InitRule init_rule(const ModelConfig& config);

}  // namespace xgrad::detail

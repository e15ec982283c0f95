// pack_weights(): faster products with weights that no longer change.
#pragma once

#include <xgrad/autograd/parameters.hpp>

namespace xgrad {

/// Lets linear() and linear_gelu() keep copies of these weights in the order in which their
/// products read them (PackedMatrix). A forward pass of few rows, as for one example, is then
/// faster, and has the same bits. A copy is made by the first product that reads the weight, takes
/// as much memory as the weight, and is dropped by mutable_value(). Any number of threads may
/// compute with the weights.
template <class T>
void pack_weights(const Parameters<T>& parameters);

}  // namespace xgrad

// recompute(): gradient checkpointing, which saves memory and takes more time.
#pragma once

#include <functional>

#include <xgrad/autograd/variable.hpp>

namespace xgrad {

/// f(x) in less memory: forward keeps only x, and backward runs f again, which takes time. Chen et
/// al. 2016.
///
/// f may use Variables that it captures, leaves and results of ops alike; they get the same
/// gradients as without recompute(). f must give the same bits each time, so it must take random
/// numbers from an Rng. Then results and gradients have the same bits as without recompute(). f is
/// copied and kept as long as the graph. If x requires no gradient or a NoGrad lives, this is f(x).
///
/// backward() throws GradientError if
/// - f gives another shape or other values (by a 64-bit hash) when it runs again, or its result
///   depends on a Variable that requires a gradient in only one of the two runs;
/// - f uses a Variable from outside that it did not use when it first ran;
/// - mutable_value() has changed a value that f uses;
/// - a result from inside f is used outside of it;
/// - a NoGrad lives.
template <class T>
Variable<T> recompute(const std::function<Variable<T>(const Variable<T>&)>& f,
                      const Variable<T>& x);

}  // namespace xgrad

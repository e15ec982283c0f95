// recompute(): memory for time.
#pragma once

#include <functional>

#include <xgrad/autograd/variable.hpp>

namespace xgrad {

/// f(x), of which backward keeps x alone: it runs f again and then its derivative. Chen et al.
/// 2016.
///
/// Both runs, and so the gradients, have the same bits as without, where f is a function of x and
/// of leaves that gives the same each time: randomness by Rng does. f is copied, and kept as long
/// as the graph. A graph is recorded as ever where x requires no gradient. backward() throws
/// GradientError where a NoGrad lives.
template <class T>
Variable<T> recompute(const std::function<Variable<T>(const Variable<T>&)>& f,
                      const Variable<T>& x);

}  // namespace xgrad

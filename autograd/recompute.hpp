// recompute(): memory for time.
#pragma once

#include <functional>

#include <xgrad/autograd/variable.hpp>

namespace xgrad {

/// f(x), of which backward keeps x alone: it runs f again and then its derivative. Chen et al.
/// 2016.
///
/// f may use Variables that it captures, leaves and results of ops alike; their gradients arrive as
/// without recompute(). It must give the same each time: randomness by Rng does. Then both runs,
/// and the gradients of x and of captured leaves, have the same bits as without. f is copied, and
/// kept as long as the graph. A graph is recorded as ever where x requires no gradient.
///
/// backward() throws GradientError where a NoGrad lives, where f uses a Variable from outside that
/// it did not use when it first ran, where mutable_value() has changed one that it uses, and where
/// a result from inside f is used outside of it.
template <class T>
Variable<T> recompute(const std::function<Variable<T>(const Variable<T>&)>& f,
                      const Variable<T>& x);

}  // namespace xgrad

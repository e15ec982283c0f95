// Parallel loops whose results do not depend on the number of threads.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include <xgrad/autograd/scoped.hpp>

namespace xgrad {

/// The number of threads that parallel loops may use. Default: the number of cores that the process
/// may run on. The number is lower if the system refuses to start so many threads.
int threads();

/// Sets the number of threads; below 1 counts as 1. Results have the same bits for any number.
void set_threads(int count);

/// Why there are fewer threads than requested, for example "1 thread in place of 2 (Resource
/// temporarily unavailable)". Empty if there are enough, or if nothing has needed threads yet.
std::string thread_shortage();

/// While a SerialScope lives, parallel loops of this thread run on this thread alone. The loops of
/// other threads are not affected.
class SerialScope : detail::Scoped<bool> {
 public:
  SerialScope();
};

namespace detail {
/// Call in the child process after fork(). Loops then run on the only thread of the child.
void forget_threads();

void parallel_blocks(std::size_t n, std::size_t grain,
                     const std::function<void(std::size_t begin, std::size_t end)>& body);
}  // namespace detail

/// Calls body(begin, end) for the blocks [0, grain), [grain, 2 grain), ... of [0, n).
///
/// The blocks depend on n and grain alone, so a body that writes only to its block's own data gives
/// the same bits for any number of threads. A single block runs on the caller's thread. Rethrows
/// the first exception of a body.
template <class Body>
void parallel_for(std::size_t n, std::size_t grain, const Body& body) {
  if (n <= grain) {
    if (n > 0) body(std::size_t(0), n);
    return;
  }
  detail::parallel_blocks(n, grain, std::cref(body));
}

}  // namespace xgrad

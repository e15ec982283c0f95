// Parallel loops whose results do not depend on the number of threads.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

namespace xgrad {

/// Number of threads that parallel loops may use; at first, the cores this process may run on.
/// Lower where the system lets the process start no more.
int threads();

/// Sets it. Results are the same bits for any number.
void set_threads(int count);

/// Why threads() is less than what was asked for, as "1 thread in place of 2 (Resource temporarily
/// unavailable)"; empty where it is not, or where nothing has needed threads yet.
std::string thread_shortage();

/// While it lives, the loops of its thread run on that thread alone: for work that goes on beside
/// the loops of another.
class SerialScope {
 public:
  SerialScope();
  ~SerialScope();
  SerialScope(const SerialScope&) = delete;

 private:
  bool before_;
};

namespace detail {
/// In a process that fork() made: its loops run on the one thread that it has.
void forget_threads();

using LoopBody = void (*)(const void* context, std::size_t begin, std::size_t end);
void parallel_blocks(std::size_t n, std::size_t grain, LoopBody body, const void* context);
}  // namespace detail

/// Calls body(begin, end) for the blocks [0, grain), [grain, 2 grain), ... of [0, n).
///
/// The blocks depend on n and grain alone, never on the number of threads; a body that writes only
/// what its block owns gives the same bits for any number of threads. One block runs on the
/// caller's thread. The first exception of a body is rethrown.
template <class Body>
void parallel_for(std::size_t n, std::size_t grain, const Body& body) {
  if (n <= grain) {
    if (n > 0) body(std::size_t(0), n);
    return;
  }
  detail::parallel_blocks(
      n, grain,
      [](const void* context, std::size_t begin, std::size_t end) {
        (*static_cast<const Body*>(context))(begin, end);
      },
      std::addressof(body));
}

}  // namespace xgrad

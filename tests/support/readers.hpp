// Threads in the place of processes that read the same data.
#pragma once

#include <barrier>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <xgrad/data/task.hpp>

namespace xgrad::test {

/// Calls f in threads that are readers of the same data.
inline void on_readers(std::size_t count, const std::function<void(const Readers&)>& f) {
  std::barrier barrier{std::ptrdiff_t(count)};
  std::vector<std::string> texts(count);
  std::vector<std::thread> threads;
  for (std::size_t self = 0; self < count; ++self) {
    threads.emplace_back([&, self] {
      f({self, [&, self](const std::string& own) {
           texts[self] = own;
           barrier.arrive_and_wait();
           const std::vector<std::string> all = texts;
           barrier.arrive_and_wait();
           return all;
         }});
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace xgrad::test

// Ranks that are threads of this process, to test with.
#pragma once

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <xgrad/train/ranks/ranks.hpp>

namespace xgrad::test {

/// The buffers that each rank offers to the others, and the barrier at which they wait.
struct Meeting {
  explicit Meeting(std::size_t size) : barrier(std::ptrdiff_t(size)), offers(size) {}

  struct Offer {
    const char* data;
    const std::vector<Range>* ranges;
  };
  std::barrier<> barrier;
  std::vector<Offer> offers;
};

class ThreadRank final : public Ranks {
 public:
  ThreadRank(Meeting& meeting, std::size_t rank) : meeting_(meeting), rank_(rank) {}

  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return meeting_.offers.size(); }

  // Waits for the others at once: the order of calls is the same on all ranks.
  std::unique_ptr<Transfer> begin_exchange(const void* from, const std::vector<Range>& to_rank,
                                           void* into, const std::vector<Range>& from_rank,
                                           std::size_t width) override {
    offer(from, to_rank);
    for (std::size_t r = 0; r < size(); ++r) {
      const Meeting::Offer& other = meeting_.offers[r];
      copy(other, (*other.ranges)[rank_], static_cast<char*>(into), from_rank[r], width);
    }
    meeting_.barrier.arrive_and_wait();
    return std::make_unique<Transfer>();
  }

  void gather(void* all, const std::vector<Range>& of_rank, std::size_t width) override {
    offer(all, of_rank);
    for (std::size_t r = 0; r < size(); ++r) {
      if (r == rank_) continue;
      copy(meeting_.offers[r], of_rank[r], static_cast<char*>(all), of_rank[r], width);
    }
    meeting_.barrier.arrive_and_wait();
  }

 private:
  void offer(const void* data, const std::vector<Range>& ranges) {
    meeting_.offers[rank_] = {static_cast<const char*>(data), &ranges};
    meeting_.barrier.arrive_and_wait();
  }

  void copy(const Meeting::Offer& other, const Range& from, char* into, const Range& to,
            std::size_t width) {
    if (from.size() != to.size()) std::terminate();
    if (to.size() > 0) {
      std::memcpy(into + to.begin * width, other.data + from.begin * width, to.size() * width);
    }
  }

  Meeting& meeting_;
  std::size_t rank_;
};

/// Calls work(ranks) on `size` threads at once, each as one rank. An exception ends the program, as
/// the others would wait for ever.
inline void on_ranks(std::size_t size, const std::function<void(ThreadRank&)>& work) {
  Meeting meeting(size);
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < size; ++r) {
    threads.emplace_back([&, r]() noexcept {
      ThreadRank rank(meeting, r);
      work(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace xgrad::test

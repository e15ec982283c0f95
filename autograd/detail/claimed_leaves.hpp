// ClaimedLeaves: the leaves that a backward() adds gradients to. No other thread may add meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/op.hpp>

namespace xgrad::detail {

/// The unique number of this thread; numbers start at 1.
inline std::uint32_t thread_number() {
  static std::atomic<std::uint32_t> newest{0};
  thread_local const std::uint32_t number = ++newest;
  return number;
}

/// While a ClaimedLeaves lives, its leaves belong to this thread. A backward() that runs inside
/// another backward(), on the same thread, may also add to the leaves of the outer backward().
template <class T>
class ClaimedLeaves {
 public:
  ClaimedLeaves() = default;
  ~ClaimedLeaves() {
    for (const auto& leaf : leaves_) leaf->thread.store(0, std::memory_order_release);
  }
  ClaimedLeaves(const ClaimedLeaves&) = delete;
  ClaimedLeaves& operator=(const ClaimedLeaves&) = delete;

  /// Claims a leaf for this thread. Throws GradientError when another thread has claimed the leaf.
  void add(const std::shared_ptr<Node<T>>& leaf) {
    std::uint32_t owner = leaf->thread.load(std::memory_order_relaxed);
    if (owner == thread_number()) return;
    leaves_.push_back(leaf);  // may throw, so it comes before the claim
    owner = 0;
    if (leaf->thread.compare_exchange_strong(owner, thread_number(), std::memory_order_acquire)) {
      return;
    }
    leaves_.pop_back();
    fail<GradientError>(
        "backward: another thread's backward adds to the gradient of the leaf of "
        "shape ",
        leaf->shape,
        ", and terms would be lost; let the threads take turns, or give each "
        "thread its own leaves");
  }

 private:
  std::vector<std::shared_ptr<Node<T>>> leaves_;
};

}  // namespace xgrad::detail

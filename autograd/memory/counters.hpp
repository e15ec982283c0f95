// Counters: floating-point operations of matrix products, and the memory of tensors.
#pragma once

#include <cstddef>
#include <cstdint>

namespace xgrad {

/// Counts on all threads while it lives. Only one may live at a time.
class Counters {
 public:
  /// Starts at zero. Throws Error when another Counters lives.
  Counters();
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  /// The sum of 2 m n k over all products (m, k) (k, n) so far, forward and backward.
  std::uint64_t flops() const;
  /// Bytes of tensors allocated so far minus bytes freed so far; may be negative.
  std::int64_t live_bytes() const;
  /// The maximum of live_bytes() so far, at least 0.
  std::int64_t peak_bytes() const;
};

namespace detail {
void count_product(std::size_t m, std::size_t n, std::size_t k);
}  // namespace detail

}  // namespace xgrad

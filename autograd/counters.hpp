// Counters: floating-point operations of matrix products, and the memory of tensors.
#pragma once

#include <cstddef>
#include <cstdint>

namespace xgrad {

/// While one lives, all threads count; without one, a product and an allocation pay for one test.
/// One at a time: throws Error when there is another.
class Counters {
 public:
  Counters();
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  /// 2 m n k of every product (m, k) (k, n) since the beginning, those inside of ops and of their
  /// derivatives too.
  std::uint64_t flops() const;
  /// Bytes of tensors made since the beginning, less those of tensors that went.
  std::int64_t live_bytes() const;
  /// The most that live_bytes() ever was, at least 0.
  std::int64_t peak_bytes() const;
};

namespace detail {
void count_product(std::size_t m, std::size_t n, std::size_t k);
/// Negative where memory is given back.
void count_memory(std::int64_t bytes) noexcept;
}  // namespace detail

}  // namespace xgrad

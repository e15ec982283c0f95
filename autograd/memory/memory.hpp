// The memory of tensors: 64-byte aligned, and reused from step to step. OutOfMemory is thrown when
// memory runs out. Counters counts bytes, and the operations of matrix products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>

namespace xgrad {

namespace detail {
/// Returns `bytes` bytes aligned to 64. Throws std::bad_alloc.
void* allocate(std::size_t bytes);
/// Frees memory of allocate(bytes).
void deallocate(void* pointer, std::size_t bytes) noexcept;
/// Counts a product for Counters::flops().
void count_product(std::size_t m, std::size_t n, std::size_t k);
}  // namespace detail

/// Holds no functions: for a call with a Tensor, C++ also searches the namespace of its Allocator.
/// If that were xgrad, clang would try the op xgrad::sum() inside xt::mean(), and fail.
namespace allocators {

/// The allocator of all tensors. Macros of xtensor can change xtensor's default allocator, but not
/// the type Tensor, which uses this allocator. Small blocks come from TBB. Large blocks come from
/// regions that are kept: after the first steps, training requests no memory from the system.
template <class T>
struct Allocator {
  using value_type = T;  ///< the type of an element

  Allocator() = default;
  /// Converts from any other Allocator; allocators have no state.
  template <class U>
  Allocator(const Allocator<U>&) noexcept {}

  /// Returns memory for n elements, aligned to 64 bytes. Throws std::bad_alloc.
  T* allocate(std::size_t n) {
    constexpr std::size_t most = std::size_t(-1);
    return static_cast<T*>(detail::allocate(n > most / sizeof(T) ? most : n * sizeof(T)));
  }
  /// Frees memory of allocate(n).
  void deallocate(T* pointer, std::size_t n) noexcept {
    detail::deallocate(pointer, n * sizeof(T));
  }

  /// Always true: any Allocator may free the memory of another.
  friend bool operator==(const Allocator&, const Allocator&) { return true; }
};

}  // namespace allocators

/// A bad_alloc that says how many bytes were requested and for what. Allocates nothing itself.
class OutOfMemory final : public std::bad_alloc {
 public:
  /// `bytes` is the size requested; `purpose` is a string literal, such as "a tensor".
  OutOfMemory(std::size_t bytes, const char* purpose) noexcept {
    std::snprintf(text_, sizeof text_, "cannot allocate %zu bytes for %s", bytes, purpose);
  }
  /// The message: "cannot allocate N bytes for PURPOSE".
  const char* what() const noexcept override { return text_; }

 private:
  char text_[96];
};

/// While a Counters lives, counts memory and products on all threads. Only one may live at a time.
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

}  // namespace xgrad

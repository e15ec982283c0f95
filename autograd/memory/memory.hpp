// The memory of tensors: 64-byte aligned and recycled between steps.
#pragma once

#include <cstddef>

namespace xgrad {

namespace detail {
/// Returns `bytes` bytes aligned to 64. Throws std::bad_alloc.
void* allocate(std::size_t bytes);
/// Frees memory of allocate(bytes).
void deallocate(void* pointer, std::size_t bytes) noexcept;
}  // namespace detail

/// The allocator of all tensors. Naming it makes Tensor the same type for any xtensor macros that a
/// program defines. Small blocks come from TBB, large ones from regions that are kept, so that a
/// warm training step requests no memory from the system.
template <class T>
struct Allocator {
  using value_type = T;  ///< the type of an element

  Allocator() = default;
  /// Converts from any other Allocator; they have no state.
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

}  // namespace xgrad

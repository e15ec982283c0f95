// The memory of tensors: 64-byte aligned and recycled between steps.
#pragma once

#include <cstddef>

namespace xgrad {

namespace detail {
/// Returns `bytes` bytes aligned to 64. Throws std::bad_alloc.
void* allocate(std::size_t bytes);
/// `bytes` as for allocate().
void deallocate(void* pointer, std::size_t bytes) noexcept;
}  // namespace detail

/// Allocator of every tensor. Being ours, it keeps the type of Tensor the same whatever xtensor
/// macros an embedding program defines; with TBB's for small blocks and regions of its own for
/// large ones underneath, a warm training step asks the system for nothing.
template <class T>
struct Allocator {
  using value_type = T;  ///< of its elements

  Allocator() = default;
  /// All are alike.
  template <class U>
  Allocator(const Allocator<U>&) noexcept {}

  /// Room for n elements. Throws std::bad_alloc.
  T* allocate(std::size_t n) { return static_cast<T*>(detail::allocate(n * sizeof(T))); }
  /// Gives back what allocate(n) gave.
  void deallocate(T* pointer, std::size_t n) noexcept {
    detail::deallocate(pointer, n * sizeof(T));
  }

  /// Any may free what another has allocated.
  friend bool operator==(const Allocator&, const Allocator&) { return true; }
};

}  // namespace xgrad

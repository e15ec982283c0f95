#include <xgrad/autograd/memory.hpp>

#include <tbb/scalable_allocator.h>

#include <new>

namespace xgrad::detail {

void* allocate(std::size_t bytes) {
  constexpr std::size_t alignment = 64;  // a cache line, and the widest vector register
  void* pointer = scalable_aligned_malloc(bytes == 0 ? alignment : bytes, alignment);
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}

void deallocate(void* pointer) noexcept { scalable_aligned_free(pointer); }

}  // namespace xgrad::detail

#include <xgrad/autograd/memory.hpp>

#include <tbb/scalable_allocator.h>

#include <cstdlib>
#include <new>

#include <xgrad/autograd/counters.hpp>
#include <xgrad/autograd/large_blocks.hpp>
#include <xgrad/autograd/out_of_memory.hpp>

namespace xgrad::detail {

namespace {
constexpr std::size_t kAlignment = 64;  // a cache line, and the widest vector register
constexpr const char* kPurpose = "a tensor";
}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(XGRAD_SYSTEM_ALLOCATOR)

// Sanitizers and valgrind see blocks of the system only: neither the bounds of those inside a pool,
// nor that one thread got what another gave back.
void* allocate(std::size_t bytes) {
  count_memory(std::int64_t(bytes));
  void* pointer = nullptr;
  if (::posix_memalign(&pointer, kAlignment, bytes) != 0) throw OutOfMemory(bytes, kPurpose);
  return pointer;
}

void deallocate(void* pointer, std::size_t bytes) noexcept {
  count_memory(-std::int64_t(bytes));
  std::free(pointer);
}

#else

namespace {
// Never destroyed: tensors may outlive every static object.
LargeBlocks& large_blocks() {
  static LargeBlocks& blocks = *new LargeBlocks;
  return blocks;
}
}  // namespace

void* allocate(std::size_t bytes) {
  count_memory(std::int64_t(bytes));
  if (bytes >= LargeBlocks::kSmallest) try {
      return large_blocks().allocate(bytes);
    } catch (const std::bad_alloc&) {
      throw OutOfMemory(bytes, kPurpose);
    }
  void* pointer = scalable_aligned_malloc(bytes == 0 ? kAlignment : bytes, kAlignment);
  if (pointer == nullptr) throw OutOfMemory(bytes, kPurpose);
  return pointer;
}

void deallocate(void* pointer, std::size_t bytes) noexcept {
  count_memory(-std::int64_t(bytes));
  if (bytes >= LargeBlocks::kSmallest) return large_blocks().deallocate(pointer);
  scalable_aligned_free(pointer);
}

#endif

}  // namespace xgrad::detail

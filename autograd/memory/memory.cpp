#include <xgrad/autograd/memory/memory.hpp>

#include <tbb/scalable_allocator.h>

#include <cstdlib>
#include <new>

#include <xgrad/autograd/memory/counters.hpp>
#include <xgrad/autograd/memory/large_blocks.hpp>
#include <xgrad/autograd/memory/out_of_memory.hpp>

namespace xgrad::detail {

namespace {
constexpr std::size_t kAlignment = 64;  // a cache line, and the widest vector register
constexpr const char* kPurpose = "a tensor";
}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(XGRAD_SYSTEM_ALLOCATOR)

// Sanitizers and valgrind track only the system's blocks. Inside a pool they would miss overruns,
// and memory that passes from one thread to another.
static void* try_allocate(std::size_t bytes) {
  void* pointer = nullptr;
  return ::posix_memalign(&pointer, kAlignment, bytes) == 0 ? pointer : nullptr;
}

static void release(void* pointer, std::size_t) noexcept {
  std::free(pointer);
}

#else

namespace {
// Never destroyed, since tensors may outlive static objects.
LargeBlocks& large_blocks() {
  static LargeBlocks& blocks = *new LargeBlocks;
  return blocks;
}
}  // namespace

static void* try_allocate(std::size_t bytes) {
  if (bytes >= LargeBlocks::kSmallest) try {
      return large_blocks().allocate(bytes);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  return scalable_aligned_malloc(bytes == 0 ? kAlignment : bytes, kAlignment);
}

static void release(void* pointer, std::size_t bytes) noexcept {
  if (bytes >= LargeBlocks::kSmallest) return large_blocks().deallocate(pointer);
  scalable_aligned_free(pointer);
}

#endif

void* allocate(std::size_t bytes) {
  void* pointer = try_allocate(bytes);
  if (pointer == nullptr) throw OutOfMemory(bytes, kPurpose);
  count_memory(std::int64_t(bytes));
  return pointer;
}

void deallocate(void* pointer, std::size_t bytes) noexcept {
  count_memory(-std::int64_t(bytes));
  release(pointer, bytes);
}

}  // namespace xgrad::detail

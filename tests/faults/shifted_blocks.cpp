// A preload that moves every block of memory, of malloc and of TBB, by a random multiple of its
// alignment: results may not depend on where data lie. XGRAD_SHIFT_SEED chooses, and the number of
// blocks that were moved goes to the file XGRAD_SHIFT_COUNT at the end.
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_memalign(std::size_t alignment, std::size_t size) noexcept;
void __libc_free(void* block) noexcept;
}

namespace {

/// Stands before every block.
struct Header {
  void* whole;
  std::size_t size;
};
constexpr std::size_t kSmallest = alignof(std::max_align_t);
static_assert(sizeof(Header) <= kSmallest);

std::atomic<std::uint64_t> blocks{0};

std::uint64_t noise() {
  static const char* text = std::getenv("XGRAD_SHIFT_SEED");
  static const std::uint64_t seed = text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
  std::uint64_t x = (seed << 32) + ++blocks;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

template <class Allocate>
void* shifted(std::size_t alignment, std::size_t size, Allocate allocate) {
  alignment = std::max(alignment, kSmallest);
  const std::size_t shift = alignment * (1 + noise() % (alignment < 4096 ? 64 : 2));
  if (size > SIZE_MAX - shift) return nullptr;
  void* whole = allocate(alignment, size + shift);
  if (whole == nullptr) return nullptr;
  char* block = static_cast<char*>(whole) + shift;
  reinterpret_cast<Header*>(block)[-1] = {whole, size};
  return block;
}

Header header(void* block) {
  return static_cast<Header*>(block)[-1];
}

struct AtEnd {
  ~AtEnd() {
    const char* path = std::getenv("XGRAD_SHIFT_COUNT");
    if (path == nullptr) return;
    char text[32];
    const int length = std::snprintf(text, sizeof text, "%lu\n", blocks.load());
    const int file = ::open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (::write(file, text, std::size_t(length)) != length) std::abort();
    ::close(file);
  }
} at_end;

}  // namespace

extern "C" {

void* memalign(std::size_t alignment, std::size_t size) noexcept {
  void* block = shifted(alignment, size, __libc_memalign);
  if (block == nullptr) errno = ENOMEM;
  return block;
}

void* malloc(std::size_t size) noexcept {
  return memalign(kSmallest, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return memalign(alignment, size);
}

int posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept {
  *block = shifted(alignment, size, __libc_memalign);
  return *block == nullptr ? ENOMEM : 0;
}

void* calloc(std::size_t count, std::size_t size) noexcept {
  std::size_t bytes = 0;
  void* block = __builtin_mul_overflow(count, size, &bytes) ? nullptr : malloc(bytes);
  return block == nullptr ? nullptr : std::memset(block, 0, bytes);
}

void free(void* block) noexcept {
  if (block != nullptr) __libc_free(header(block).whole);
}

void* realloc(void* block, std::size_t size) noexcept {
  void* other = malloc(size);
  if (block == nullptr || other == nullptr) return other;
  std::memcpy(other, block, std::min(size, header(block).size));
  free(block);
  return other;
}

std::size_t malloc_usable_size(void* block) noexcept {
  return block == nullptr ? 0 : header(block).size;
}

void* scalable_aligned_malloc(std::size_t size, std::size_t alignment) {
  using Function = void* (*)(std::size_t, std::size_t);
  static const auto next =
      reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "scalable_aligned_malloc"));
  return shifted(alignment, size,
                 [](std::size_t aligned, std::size_t bytes) { return next(bytes, aligned); });
}

void scalable_aligned_free(void* block) {
  using Function = void (*)(void*);
  static const auto next = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "scalable_aligned_free"));
  if (block != nullptr) next(header(block).whole);
}

}  // extern "C"

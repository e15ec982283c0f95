// A preload in which one allocation of the program fails, as if there were no memory left just
// then: that with the number XGRAD_FAIL_AT, counted from the first file on that it opens; before,
// CLI11 defines words in functions that may not throw. Counted are operator new for the program
// and for the C++ library and libfmt, which work on its behalf, and malloc, TBB's and mmap for the
// program itself. Other libraries get what they ask for. So does libhdf5 within the program, which
// may crash without memory: the writer makes sure beforehand that it has enough. The file
// XGRAD_FAIL_TOLD is made when the allocation fails, and XGRAD_FAIL_PLACES gets the number of the
// first allocation of each chain of callers.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <new>
#include <string>
#include <vector>

extern "C" {
void* __libc_malloc(std::size_t size) noexcept;
void* __libc_calloc(std::size_t count, std::size_t size) noexcept;
void* __libc_realloc(void* block, std::size_t size) noexcept;
void* __libc_memalign(std::size_t alignment, std::size_t size) noexcept;
}

namespace {

struct Range {
  std::uintptr_t begin = 0, end = 0;
  bool holds(std::uintptr_t address) const { return begin <= address && address < end; }
};
Range program, helpers[2];  // libstdc++, libfmt
std::uintptr_t bias = 0;    // of the program's addresses
std::vector<Range> hdf5;    // the functions of a libhdf5 within the program, by address

std::atomic<bool> in_main{false}, at_work{false};
std::atomic<long> blocks{0};
long fail_at = 0;
bool notes = false;

constexpr std::size_t kPlaces = 1 << 16;
std::uint64_t chains[kPlaces];
long firsts[kPlaces];
std::mutex lock;

int find(dl_phdr_info* info, std::size_t, void*) {
  Range* range = info->dlpi_name[0] == '\0'                    ? &program
                 : std::strstr(info->dlpi_name, "/libstdc++.") ? &helpers[0]
                 : std::strstr(info->dlpi_name, "/libfmt.")    ? &helpers[1]
                                                               : nullptr;
  if (range == nullptr || range->end != 0) return 0;
  if (range == &program) bias = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    *range = {info->dlpi_addr + part.p_vaddr, info->dlpi_addr + part.p_vaddr + part.p_memsz};
  }
  return 0;
}

void find_hdf5() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  const auto at = [&]<class T>(std::uint64_t place, T value) {
    std::memcpy(&value, bytes.data() + place, sizeof(T));
    return value;
  };
  const auto header = at(0, ElfW(Ehdr)());
  const auto section = [&](std::size_t i) {
    return at(header.e_shoff + i * sizeof(ElfW(Shdr)), ElfW(Shdr)());
  };
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const ElfW(Shdr) symbols = section(i);
    if (symbols.sh_type != SHT_SYMTAB) continue;
    const char* const names = bytes.data() + section(symbols.sh_link).sh_offset;
    for (std::size_t k = 0; k < symbols.sh_size / sizeof(ElfW(Sym)); ++k) {
      const auto symbol = at(symbols.sh_offset + k * sizeof(ElfW(Sym)), ElfW(Sym)());
      const std::uintptr_t begin = bias + symbol.st_value;
      if ((symbol.st_info & 0xf) == STT_FUNC && std::strncmp(names + symbol.st_name, "H5", 2) == 0)
        hdf5.push_back({begin, begin + symbol.st_size});
    }
  }
  std::sort(hdf5.begin(), hdf5.end(), [](Range a, Range b) { return a.begin < b.begin; });
}

bool is_hdf5(std::uintptr_t address) {
  const auto after = std::upper_bound(hdf5.begin(), hdf5.end(), address,
                                      [](std::uintptr_t a, Range b) { return a < b.begin; });
  return after != hdf5.begin() && std::prev(after)->holds(address);
}

struct Chain {
  std::uint64_t hash = 0;
  int depth = 0;
};

_Unwind_Reason_Code follow(_Unwind_Context* context, void* argument) {
  Chain& chain = *static_cast<Chain*>(argument);
  const std::uintptr_t address = _Unwind_GetIP(context);
  if (program.holds(address)) {
    chain.hash = (chain.hash ^ (address - program.begin)) * 0x9e3779b97f4a7c15u;
    ++chain.depth;
  }
  return chain.depth < 6 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

void note(long number) {
  thread_local bool inside = false;
  if (inside) return;
  inside = true;
  Chain chain;
  _Unwind_Backtrace(follow, &chain);
  const std::lock_guard guard(lock);
  std::size_t place = chain.hash % kPlaces;
  while (firsts[place] != 0 && chains[place] != chain.hash) place = (place + 1) % kPlaces;
  if (firsts[place] == 0) {
    firsts[place] = number;
    chains[place] = chain.hash;
  }
  inside = false;
}

void tell() {
  const char* path = std::getenv("XGRAD_FAIL_TOLD");
  if (path != nullptr) ::close(::open(path, O_WRONLY | O_CREAT, 0666));
}

// Whether this allocation is the one that fails.
bool fails(void* caller, bool for_helpers) {
  if (!at_work) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  const bool ours = (program.holds(address) && !is_hdf5(address)) ||
                    (for_helpers && (helpers[0].holds(address) || helpers[1].holds(address)));
  if (!ours) return false;
  const long number = ++blocks;
  if (notes) note(number);
  if (number != fail_at) return false;
  tell();
  errno = ENOMEM;
  return true;
}

void* made(std::size_t size, std::size_t alignment, bool failed) {
  void* block = nullptr;
  if (!failed) block = alignment == 0 ? __libc_malloc(size) : __libc_memalign(alignment, size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

int opened(void* caller, int folder, const char* path, int flags, unsigned mode) {
  if (in_main && program.holds(reinterpret_cast<std::uintptr_t>(caller))) at_work = true;
  return int(
      ::syscall(SYS_openat, folder, path, flags, mode));  // which looks at the mode if it must
}

using Main = int (*)(int, char**, char**);
Main real_main = nullptr;

void write_places() {
  const char* path = std::getenv("XGRAD_FAIL_PLACES");
  std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "w");
  if (file == nullptr) return;
  for (const long number : firsts) {
    if (number != 0) std::fprintf(file, "%ld\n", number);
  }
  std::fclose(file);
}

int watched_main(int argc, char** argv, char** environment) {
  ::dl_iterate_phdr(find, nullptr);
  find_hdf5();
  const char* number = std::getenv("XGRAD_FAIL_AT");
  fail_at = number == nullptr ? 0 : std::atol(number);
  notes = std::getenv("XGRAD_FAIL_PLACES") != nullptr;
  in_main = true;
  const int code = real_main(argc, argv, environment);
  in_main = at_work = false;
  write_places();
  return code;
}

}  // namespace

// The caller is that of the function in which this stands.
#define FAILS(for_helpers) fails(__builtin_return_address(0), for_helpers)

void* operator new(std::size_t size) {
  return made(size, 0, FAILS(true));
}
void* operator new[](std::size_t size) {
  return made(size, 0, FAILS(true));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return made(size, std::size_t(alignment), FAILS(true));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return made(size, std::size_t(alignment), FAILS(true));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return FAILS(true) ? nullptr : __libc_malloc(size);
}

extern "C" {

void* malloc(std::size_t size) noexcept {
  return FAILS(false) ? nullptr : __libc_malloc(size);
}

void* calloc(std::size_t count, std::size_t size) noexcept {
  return FAILS(false) ? nullptr : __libc_calloc(count, size);
}

void* realloc(void* block, std::size_t size) noexcept {
  return FAILS(false) ? nullptr : __libc_realloc(block, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return FAILS(false) ? nullptr : __libc_memalign(alignment, size);
}

int posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept {
  *block = FAILS(false) ? nullptr : __libc_memalign(alignment, size);
  return *block == nullptr ? ENOMEM : 0;
}

void* mmap(void* place, std::size_t size, int protection, int flags, int file,
           off_t offset) noexcept {
  if (FAILS(false)) return MAP_FAILED;
  return reinterpret_cast<void*>(::syscall(SYS_mmap, place, size, protection, flags, file, offset));
}

void* scalable_aligned_malloc(std::size_t size, std::size_t alignment) {
  using Function = void* (*)(std::size_t, std::size_t);
  static const auto next =
      reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "scalable_aligned_malloc"));
  return FAILS(false) ? nullptr : next(size, alignment);
}

int open(const char* path, int flags, ...) {
  va_list mode;
  va_start(mode, flags);
  const int file =
      opened(__builtin_return_address(0), AT_FDCWD, path, flags, va_arg(mode, unsigned));
  va_end(mode);
  return file;
}

int openat(int folder, const char* path, int flags, ...) {
  va_list mode;
  va_start(mode, flags);
  const int file = opened(__builtin_return_address(0), folder, path, flags, va_arg(mode, unsigned));
  va_end(mode);
  return file;
}

int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*rtld_fini)(), void* stack_end) {
  using Function = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  const auto next = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "__libc_start_main"));
  real_main = main;
  return next(watched_main, argc, argv, init, fini, rtld_fini, stack_end);
}

}  // extern "C"

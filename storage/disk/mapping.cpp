#include <xgrad/storage/disk/mapping.hpp>

#include <sys/mman.h>

#include <xgrad/storage/disk/descriptor.hpp>

namespace xgrad {

Mapping::Mapping(int file, std::size_t size, const std::string& path) : size_(size) {
  if (size == 0) return;
  start_ = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  if (start_ == MAP_FAILED) detail::fail_io(path, "cannot map");
}

Mapping::~Mapping() {
  if (size_ > 0) ::munmap(start_, size_);
}

}  // namespace xgrad

// Hdf5Handle: an identifier of libhdf5 that closes itself. Includes no header of libhdf5.
#pragma once

#include <cstdint>
#include <utility>

namespace xgrad::detail {

class Hdf5Handle {
 public:
  using Close = int (*)(std::int64_t);
  Hdf5Handle(std::int64_t id, Close close) : id_(id), close_(close) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept
      : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&&) = delete;
  ~Hdf5Handle() { close(); }
  void close() {
    if (id_ >= 0) close_(std::exchange(id_, -1));
  }
  operator std::int64_t() const { return id_; }

 private:
  std::int64_t id_;
  Close close_;
};

}  // namespace xgrad::detail

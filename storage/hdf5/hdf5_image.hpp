// Files that libhdf5 has in memory of ours. Includes no header of libhdf5; own_hdf5_writer.cpp
// defines the function.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

namespace xgrad {

/// The first bytes of an HDF5 file without a user block.
inline constexpr std::string_view kHdf5Signature = "\x89HDF\r\n\x1a\n";

namespace detail {

/// An identifier of libhdf5 that closes itself; negative if there is none.
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

/// Opens a file that lies in memory, for reading: libhdf5 copies none of it, opens no file on the
/// disk, prints no errors and loads no plug-ins. Negative if the bytes are no HDF5 file.
Hdf5Handle open_image(std::string_view image);

}  // namespace detail

}  // namespace xgrad

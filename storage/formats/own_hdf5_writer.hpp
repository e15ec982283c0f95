// Writes the part of HDF5 that checkpoints use, to memory only. Includes no header of libhdf5.
//
// All known readers open such files, and the same content has the same bytes: earliest file format,
// contiguous datasets without filters, no times, no creation order.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/storage/formats/tensors.hpp>

namespace xgrad {

namespace detail {

/// While an instance is alive, this thread has exclusive use of libhdf5, and libhdf5 prints no
/// errors. Afterwards it prints as the host program had set it to.
class Hdf5Session {
 public:
  Hdf5Session();
  ~Hdf5Session();
  Hdf5Session(const Hdf5Session&) = delete;
  Hdf5Session& operator=(const Hdf5Session&) = delete;

 private:
  void (*print_)() = nullptr;
  void* print_data_ = nullptr;
};

/// An identifier of libhdf5 that closes itself.
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

}  // namespace detail

/// Builds an HDF5 file. Every method throws Error when libhdf5 fails. Create a group before its
/// contents.
class Hdf5Writer {
 public:
  /// `bytes` estimates the size of the file, to allocate memory once.
  explicit Hdf5Writer(std::size_t bytes);

  void group(const std::string& path);
  /// Adds an attribute to a group: strings of one length, split as Keras does when they exceed an
  /// object header.
  void names(const std::string& group, const std::string& attribute,
             const std::vector<std::string>& names);
  void tensor(const std::string& path, const AnyTensor& tensor);
  void number(const std::string& path, std::uint64_t value);
  /// Adds an integer, a double, or a text with a closing zero byte.
  void value(const std::string& path, const StateValue& value);

  /// The bytes of the file, to which nothing can be added afterwards.
  std::string take_image();

 private:
  void dataset(const std::string& path, std::int64_t type, std::int64_t space, const void* data);

  detail::Hdf5Session session_;
  std::string image_;  // libhdf5 writes into it
  detail::Hdf5Handle file_;
};

}  // namespace xgrad

// Writes the little of HDF5 that a checkpoint is, to memory only. hdf5_writer.cpp alone knows
// libhdf5.
//
// It is what every known reader opens, and has the same bytes every time: earliest file format,
// contiguous datasets without filters, no times, no creation order.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/storage/formats/tensors.hpp>

namespace xgrad {

namespace detail {

/// While one lives, this thread has libhdf5 to itself, which prints nothing; afterwards it prints
/// where the host program had told it to.
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

/// An identifier of libhdf5, closed at the end.
class Hdf5Handle {
 public:
  using Close = int (*)(std::int64_t);
  Hdf5Handle(std::int64_t id, Close close) : id_(id), close_(close) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept
      : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&&) = delete;
  ~Hdf5Handle() {
    if (id_ >= 0) close_(id_);
  }
  operator std::int64_t() const { return id_; }

 private:
  std::int64_t id_;
  Close close_;
};

}  // namespace detail

/// Every method throws Error when libhdf5 refuses. Groups are made before what they hold.
class Hdf5Writer {
 public:
  /// `bytes`: a guess of the size, for memory to be asked for once.
  explicit Hdf5Writer(std::size_t bytes);

  void group(const std::string& path);
  /// An attribute of a group: strings of one length, split as Keras does where they exceed an
  /// object header.
  void names(const std::string& group, const std::string& attribute,
             const std::vector<std::string>& names);
  void tensor(const std::string& path, const AnyTensor& tensor);
  void number(const std::string& path, std::uint64_t value);
  /// An integer, a double, or a text with its closing zero byte.
  void value(const std::string& path, const StateValue& value);

  /// The whole file.
  std::string image() const;

 private:
  void dataset(const std::string& path, std::int64_t type, std::int64_t space, const void* data);

  detail::Hdf5Session session_;
  detail::Hdf5Handle file_;
};

}  // namespace xgrad

// The little of HDF5 that a checkpoint needs, over files that exist in memory only. hdf5.cpp alone
// knows libhdf5.
//
// Written is what every known reader opens and what has the same bytes every time: earliest file
// format, contiguous datasets without filters, no times, no creation order. Read is only that: hard
// links, each object once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <xgrad/train/checkpoint.hpp>

namespace xgrad::hdf5 {

/// While one lives, this thread has libhdf5 to itself, which prints nothing and loads no plug-in;
/// afterwards it does what the host program had told it.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  void (*print_)() = nullptr;
  void* print_data_ = nullptr;
  unsigned plugins_ = 0;
};

/// An identifier of libhdf5, closed at the end.
class Handle {
 public:
  using Close = int (*)(std::int64_t);
  Handle(std::int64_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  operator std::int64_t() const { return id_; }

 private:
  std::int64_t id_;
  Close close_;
};

/// Makes an HDF5 file in memory. Every method throws Error when libhdf5 refuses.
class Writer {
 public:
  /// `bytes`: a guess of the size, for memory to be asked for once.
  explicit Writer(std::size_t bytes);

  void group(const std::string& path);
  /// An attribute of a group: strings of one length, split as Keras does where they exceed an
  /// object header.
  void names(const std::string& group, const std::string& attribute,
             const std::vector<std::string>& names);
  void tensor(const std::string& path, const AnyTensor& tensor);
  void number(const std::string& path, std::uint64_t value);
  /// An integer, a double, or a text with its closing zero byte.
  void value(const std::string& path, const StateValue& value);

  std::string image();

 private:
  void dataset(const std::string& path, std::int64_t type, const Handle& space, const void* data);

  Session session_;
  Handle file_;
};

enum class Kind { group, dataset };

/// Reads an HDF5 file in memory whose digest was checked; the bytes must outlive it. Every method
/// throws CheckpointError, which names the object, on whatever Writer would not have written.
class Reader {
 public:
  /// Walks all objects, to a depth of three.
  explicit Reader(std::string_view image);

  /// Every object by its absolute path.
  const std::map<std::string, Kind>& objects() const { return objects_; }

  AnyTensor tensor(const std::string& path);
  std::uint64_t number(const std::string& path);
  StateValue value(const std::string& path);
  std::string text(const std::string& path);

 private:
  struct Dataset;
  void walk(const std::string& group, int depth);
  void visit(const std::string& path, int depth);
  Dataset open(const std::string& path);
  template <class T>
  T scalar(const Dataset& dataset);

  Session session_;
  std::string_view image_;
  std::size_t claimed_ = 0;  ///< bytes of the datasets opened so far
  Handle file_;
  std::map<std::string, Kind> objects_;
  std::map<std::uint64_t, std::string> addresses_;
};

}  // namespace xgrad::hdf5

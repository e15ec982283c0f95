// The part of HDF5 that checkpoints use, in memory: written by libhdf5, read without it. Includes
// no header of libhdf5.
//
// Checkpoints are not read by libhdf5, because a checkpoint can be malicious: anyone can make one,
// and its digest protects against damage only. libhdf5 1.10 crashes on some malicious files,
// follows links into other files and allocates as much memory as a header claims to need.
// Checkpoints use a small, old and fixed part of the format, which all known readers can open
// (docs/checkpoint-format.md). The comments use the terms of the HDF5 File Format Specification,
// version 3.0.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <xgrad/storage/formats/tensors.hpp>

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

/// Opens foreign HDF5: libhdf5 reads `image`, the bytes of a file, without copying them. libhdf5
/// opens no file, prints no errors and loads no plug-ins. Negative if `image` is not HDF5.
Hdf5Handle open_image(std::string_view image);

}  // namespace detail

/// A dataset, with a view of its data in the file.
struct OwnHdf5Dataset {
  enum class Type { float32, float64, int64, uint64, text };

  std::string path;
  Type type = Type::text;
  Shape shape;
  /// The data, as many bytes as type and shape need; a text includes its closing zero byte.
  std::string_view bytes;

  /// Each conversion throws CheckpointError with the dataset's name if type or shape do not fit.
  AnyTensor tensor() const;
  std::uint64_t number() const;
  StateValue value() const;
  std::string text() const;
};

/// Every object of a file by absolute path: a dataset, or nullopt for a group.
using Hdf5Objects = std::map<std::string, std::optional<OwnHdf5Dataset>>;

/// Parses an HDF5 file; the datasets are views into `image`. Throws CheckpointError, which names
/// the object, if the file has a link that is not hard; an object that is linked twice or lies more
/// than three levels below the root; data that are external, chunked, filtered or larger than the
/// file; a type that Hdf5Writer does not write; or anything malformed.
Hdf5Objects read_hdf5(std::string_view image);

/// Builds an HDF5 file. The same content gives the same bytes. Every method throws Error when
/// libhdf5 fails.
class Hdf5Writer {
 public:
  /// `bytes` estimates the size of the file, to allocate memory once.
  explicit Hdf5Writer(std::size_t bytes);
  Hdf5Writer(const Hdf5Writer&) = delete;

  /// Each method adds an object and the groups of its path. Requires: a dataset's path is new.
  void group(const std::string& path);
  void tensor(const std::string& path, const AnyTensor& tensor);
  void number(const std::string& path, std::uint64_t value);
  /// Adds an integer, a double, or a text with a closing zero byte.
  void value(const std::string& path, const StateValue& value);
  /// Makes a group with an attribute: a list of strings, all stored with the same length. A list
  /// that is too long for an object header becomes several attributes, as in Keras.
  void names(const std::string& group, const std::string& attribute,
             const std::vector<std::string>& names);

  /// Returns the bytes of the file. Nothing can be added afterwards.
  std::string take_image();

 private:
  void dataset(const std::string& path, std::int64_t type, const Shape& shape, const void* data);

  std::shared_ptr<void> session_;  // exclusive use of libhdf5
  std::string image_;              // libhdf5 writes into it
  detail::Hdf5Handle file_;
  std::set<std::string> groups_ = {"", "/"};
};

}  // namespace xgrad

// Reads an HDF5 file in memory, as far as Hdf5Writer writes it, and refuses everything else.
//
// libhdf5 is not asked: with a digest that anyone can compute, a file may be made by anyone, and
// libhdf5 1.10 crashes on some that are made to (six of those published with its CVEs, even behind
// every check that its interface allows), follows links into other files and allocates what a
// header claims. What is read here is a small, old and fixed part of the format: superblock
// version 0, groups as symbol tables, object headers version 1, contiguous data.
// Names in the comments are those of the HDF5 File Format Specification, version 3.0.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <xgrad/storage/formats/tensors.hpp>

namespace xgrad {

/// Data of a dataset, in the file.
struct Hdf5Dataset {
  enum class Type { float32, float64, int64, uint64, text };

  std::string path;
  Type type = Type::text;
  Shape shape;
  std::string_view bytes;  ///< as many as type and shape say; of a text with its closing zero byte

  /// Each throws CheckpointError, which names the dataset, where type or shape is another.
  AnyTensor tensor() const;
  std::uint64_t number() const;
  StateValue value() const;
  std::string text() const;
};

/// Every object by its absolute path; a group has no dataset.
using Hdf5Objects = std::map<std::string, std::optional<Hdf5Dataset>>;

/// Views into `image`. Throws CheckpointError, which names the object, on links that are not hard,
/// objects that are linked twice or nested deeper than three, data that are elsewhere, chunked or
/// filtered or more than the file has, types that Hdf5Writer does not write, and whatever is
/// malformed.
Hdf5Objects read_hdf5(std::string_view image);

}  // namespace xgrad

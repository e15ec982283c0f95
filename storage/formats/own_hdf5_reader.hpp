// Reads HDF5 files in memory, only as Hdf5Writer writes them; refuses all others.
//
// libhdf5 is not used because anyone can make such a file: its digest protects against damage, not
// against malice. libhdf5 1.10 crashes on some malicious files (six of those published with its
// CVEs, even behind every check that its interface allows), follows links into other files and
// allocates what a header claims. This reader handles a small, old and fixed part of the format:
// superblock version 0, groups as symbol tables, object headers version 1, contiguous data. Terms
// in the comments are those of the HDF5 File Format Specification, version 3.0.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <xgrad/storage/formats/tensors.hpp>

namespace xgrad {

/// A dataset, with a view of its data in the file.
struct OwnHdf5Dataset {
  enum class Type { float32, float64, int64, uint64, text };

  std::string path;
  Type type = Type::text;
  Shape shape;
  /// The data, as many bytes as type and shape need; a text includes its closing zero byte.
  std::string_view bytes;

  /// Each conversion throws CheckpointError that names the dataset when its type or shape does not
  /// fit.
  AnyTensor tensor() const;
  std::uint64_t number() const;
  StateValue value() const;
  std::string text() const;
};

/// All objects by absolute path; a group has no dataset.
using Hdf5Objects = std::map<std::string, std::optional<OwnHdf5Dataset>>;

/// Parses an HDF5 file; the datasets are views into `image`. Throws CheckpointError that names the
/// object on links that are not hard; objects that are linked twice or nested deeper than three;
/// data that are external, chunked, filtered or larger than the file; types that Hdf5Writer does
/// not write; and anything malformed.
Hdf5Objects read_hdf5(std::string_view image);

}  // namespace xgrad

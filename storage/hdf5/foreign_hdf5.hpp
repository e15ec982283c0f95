// Reads HDF5 files of other programs, by libhdf5. Malicious files can crash libhdf5: call
// parse_hdf5_dataset() and list_hdf5_datasets() only inside run_isolated(), as Hdf5File does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <xgrad/autograd/range.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/formats/tensors.hpp>

namespace xgrad {

/// The message for a file that does not start with kHdf5Signature or does not open.
inline constexpr const char* kNoHdf5 = "is not an HDF5 file, or is damaged";

/// Returns the number of bytes of HDF5 in a file, as its superblock says; other bytes may follow.
/// Reads only the superblock. Throws FormatError.
std::uint64_t hdf5_size(const InputFile& file);

/// Reads all rows, or `rows`, of a dataset of numbers or strings; `image` holds the HDF5 file.
/// Refuses virtual datasets, external storage, links other than hard links, and filters other than
/// deflate, shuffle and fletcher32. Throws FormatError that names the dataset.
Array parse_hdf5_dataset(std::string_view image, const std::string& dataset,
                         const std::optional<Range>& rows = {});

/// The layout of a dataset.
struct Hdf5Dataset {
  std::vector<std::size_t> extents = {};  ///< sizes of its axes; the first counts rows
  bool text = false;                      ///< whether it holds texts
  std::size_t chunk = 1;                  ///< rows of a chunk, which libhdf5 reads as a whole
};

/// An HDF5 file of any size. parse_hdf5_dataset() reads it in parts, in confined processes.
class Hdf5File {
 public:
  /// Opens a file. Throws FormatError as hdf5_size() does, and IoError.
  explicit Hdf5File(const std::string& path);

  /// The file.
  const InputFile& file() const { return file_; }
  /// hdf5_size() of the file.
  std::size_t size() const { return mapping_.bytes().size(); }
  /// Describes a dataset. Throws FormatError that names it.
  Hdf5Dataset describe(const std::string& dataset) const;
  /// Reads rows of a dataset; `described` is the result of describe(). Throws FormatError that
  /// names the dataset. Requires: the rows exist.
  Array rows(const std::string& dataset, const Hdf5Dataset& described, const Range& rows) const;

 private:
  Array ask(std::vector<std::string> words, std::size_t bytes) const;

  InputFile file_;
  Mapping mapping_;
};

struct NamedWork;
/// The name of the work in the confined process, and the function that does it. The function
/// returns the rows or the description of a dataset as bytes, from which unpack() makes an Array.
inline constexpr const char* kHdf5Work = "dataset";
std::string do_hdf5_work(const NamedWork& named);

/// Lists the datasets of all groups: "encoder.layers.0.norm1/weight". Throws FormatError for more
/// than 10,000 objects, or for a soft, external, repeated or too deep link; the message names it.
std::vector<std::string> list_hdf5_datasets(std::string_view image);

}  // namespace xgrad

// NumPy's .npy (one array after a header with its type and shape) and .npz (a zip of .npy files).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <xgrad/autograd/range.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/formats/tensors.hpp>

namespace xgrad {

/// Serializes a tensor as '<f4', '<f8', '<i4', or '|b1' for a mask; row-major.
template <class T>
std::string to_npy(const Tensor<T>& tensor);

/// Parses an .npy file of any version that NumPy writes: little-endian or one-byte numbers,
/// booleans, and texts, row-major or column-major. Throws FormatError on anything else, including
/// objects that would need unpickling, and data whose size does not fit the shape.
Array read_npy(std::string_view bytes);

/// Serializes weights as an archive with a file NAME.npy for each tensor; weights.text becomes the
/// archive's comment. Identical weights give identical bytes. Throws FormatError on a repeated name
/// or a text of more than 65535 bytes, and NumericError on a tensor that is not finite.
std::string to_npz(const WeightFile& weights);

/// Parses an archive as numpy.savez and numpy.savez_compressed write it. Returns the tensors in the
/// order of the file; ignores the comment. Throws FormatError that names the tensor when a tensor
/// is damaged, not an array of float32 or float64, or not finite.
WeightFile from_npz(std::string_view bytes);

/// An .npy file of any size, read in parts.
class NpyFile {
 public:
  /// Opens a file and reads its header. Throws FormatError as read_npy() does, and IoError.
  explicit NpyFile(const std::string& path);

  /// The sizes of the axes.
  const std::vector<std::size_t>& extents() const { return layout_.extents; }
  /// Whether the file holds texts.
  bool is_text() const { return layout_.type == nullptr; }
  /// The file.
  const InputFile& file() const { return file_; }
  /// Reads rows: the elements at these indices of the first axis. Throws IoError. Requires: the
  /// rows exist, and no extent is 0.
  Array rows(const Range& rows) const;

  struct Type;
  /// The layout of the values, as the header describes it.
  struct Layout {
    std::vector<std::size_t> extents;
    bool fortran = false;        ///< column-major order
    const Type* type = nullptr;  ///< null for texts
    std::size_t each = 0;        ///< bytes per value
    std::size_t begin = 0;       ///< offset of the values
    std::size_t count = 1;       ///< number of values
  };

 private:
  InputFile file_;
  Layout layout_;
};

}  // namespace xgrad

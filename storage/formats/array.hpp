// Array: numbers or texts read from files of other programs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <xgrad/storage/formats/tensors.hpp>

namespace xgrad {

/// An array of numbers or texts.
struct Array {
  std::vector<std::size_t> extents = {};  ///< sizes of its axes
  std::vector<double> values = {};        ///< numbers, row-major; empty for texts
  std::vector<std::string> texts = {};    ///< texts, row-major; empty for numbers
  bool text = false;                      ///< whether it holds texts
  bool whole = false;                     ///< whether values are integers or booleans
  bool single = false;                    ///< whether values are floats of at most 32 bits
};

/// Converts an array to a named tensor: float if `single`, else double. Throws FormatError unless
/// it holds floats, all finite.
NamedTensor to_tensor(const std::string& name, const Array& array);

/// Serializes an array as the answer of an isolated process.
std::string pack(const Array& array);
/// Restores the array from pack(). Throws FormatError unless pack() could have made the bytes,
/// because a malicious file may control the process that answered.
Array unpack(std::string_view bytes);

}  // namespace xgrad

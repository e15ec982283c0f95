// An array of numbers or texts, as files of other programs hold them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace xgrad {

/// Numbers or texts in rows, columns and so on.
struct Array {
  std::vector<std::size_t> extents = {};  ///< sizes of its axes
  std::vector<double> values = {};        ///< row-major, of an array of numbers
  std::vector<std::string> texts = {};    ///< row-major, of an array of texts
  bool text = false;                      ///< whether it holds texts
  bool whole = false;                     ///< integers or booleans
  bool single = false;                    ///< of float32 or less
};

}  // namespace xgrad

// FormatError: a file does not have the expected format.
#pragma once

#include <xgrad/autograd/check.hpp>

namespace xgrad {

/// Thrown for a file that is damaged or has another format. The message does not name the file. The
/// caller adds the name, in an exception that says whether the file is data or weights.
struct FormatError : Error {
  using Error::Error;
};

}  // namespace xgrad

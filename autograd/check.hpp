// Errors. A message names the operation, what was expected and what came, with shapes.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include <xgrad/autograd/tensor.hpp>

namespace xgrad {

/// What every exception of xgrad derives from.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Shapes or arguments of an operation that do not fit together.
struct ShapeError : Error {
  using Error::Error;
};

/// A backward that cannot be: none exists, the graph was released, nothing requires a gradient.
struct GradientError : Error {
  using Error::Error;
};

/// A config or a command line that is wrong; the message lists every problem.
struct ConfigError : Error {
  using Error::Error;
};

/// Data that is missing, damaged or out of range.
struct DataError : Error {
  using Error::Error;
};

/// A checkpoint that is damaged, foreign, or does not fit the model.
struct CheckpointError : Error {
  using Error::Error;
};

/// A loss, gradient or parameter that is not finite, or a parameter that no gradient reaches.
struct NumericError : Error {
  using Error::Error;
};

/// The system refused to read or write; the message names the path and the reason.
struct IoError : Error {
  using Error::Error;
};

/// A run directory that another process works in.
struct LockError : Error {
  using Error::Error;
};

namespace detail {

/// Text put together from parts, only when something failed.
class Message {
 public:
  void add(std::string_view part) { text_ += part; }
  void add(const char* part) { text_ += part; }
  void add(const Shape& shape) { text_ += to_string(shape); }
  void add(double number);
  template <class Integer>
  requires std::is_integral_v<Integer>
  void add(Integer number) { text_ += std::to_string(number); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

template <class Exception, class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  Message message;
  (message.add(parts), ...);
  throw Exception(message.text());
}

}  // namespace detail

/// Throws Exception with the parts, joined, as its message unless `ok`.
template <class Exception, class... Parts>
void check(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]]
    detail::fail<Exception>(parts...);
}

/// check() that throws ShapeError.
template <class... Parts>
void check_shape(bool ok, const Parts&... parts) {
  check<ShapeError>(ok, parts...);
}

}  // namespace xgrad

// Errors. A message names the operation, what it expected and what it got, with shapes.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include <xgrad/autograd/tensor.hpp>

namespace xgrad {

/// The base class of every exception of xgrad.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Shapes or arguments of an operation do not fit together.
struct ShapeError : Error {
  using Error::Error;
};

/// A gradient cannot be computed: an op has no derivative, the graph is gone, a value that
/// backward() needs has changed, or nothing requires a gradient.
struct GradientError : Error {
  using Error::Error;
};

/// A config or command line is wrong; the message lists every problem.
struct ConfigError : Error {
  using Error::Error;
};

/// Data is missing, damaged or out of range.
struct DataError : Error {
  using Error::Error;
};

/// A checkpoint is damaged, was written by another program, or does not fit the model.
struct CheckpointError : Error {
  using Error::Error;
};

/// A loss, gradient or parameter is NaN or infinite, or no gradient reaches a parameter.
struct NumericError : Error {
  using Error::Error;
};

/// The system failed to read or write; the message names the path and the reason.
struct IoError : Error {
  using Error::Error;
};

/// Another process is using the run directory.
struct LockError : Error {
  using Error::Error;
};

namespace detail {

/// Joins the parts of a message. check() makes a Message only when it fails.
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

/// Throws an Exception unless `ok`. The message joins the parts.
template <class Exception, class... Parts>
void check(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]]
    detail::fail<Exception>(parts...);
}

/// Throws a ShapeError unless `ok`. The message joins the parts.
template <class... Parts>
void check_shape(bool ok, const Parts&... parts) {
  check<ShapeError>(ok, parts...);
}

}  // namespace xgrad

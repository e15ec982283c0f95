// OutOfMemory: memory that was asked for in one piece and is not to be had.
#pragma once

#include <cstddef>
#include <cstdio>
#include <new>

namespace xgrad {

/// A bad_alloc that says how much was asked for, and what for. Takes no memory itself.
class OutOfMemory final : public std::bad_alloc {
 public:
  /// `purpose` is a literal: "a tensor".
  OutOfMemory(std::size_t bytes, const char* purpose) noexcept {
    std::snprintf(text_, sizeof text_, "no room for %zu bytes, %s", bytes, purpose);
  }
  /// "no room for N bytes, PURPOSE"
  const char* what() const noexcept override { return text_; }

 private:
  char text_[96];
};

}  // namespace xgrad

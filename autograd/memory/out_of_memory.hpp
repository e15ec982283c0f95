// OutOfMemory: an allocation that failed, with its size and purpose.
#pragma once

#include <cstddef>
#include <cstdio>
#include <new>

namespace xgrad {

/// A bad_alloc that says how many bytes were requested and for what. Allocates nothing itself.
class OutOfMemory final : public std::bad_alloc {
 public:
  /// `bytes` is the size requested; `purpose` is a string literal, as "a tensor".
  OutOfMemory(std::size_t bytes, const char* purpose) noexcept {
    std::snprintf(text_, sizeof text_, "no room for %zu bytes, %s", bytes, purpose);
  }
  /// The message: "no room for N bytes, PURPOSE".
  const char* what() const noexcept override { return text_; }

 private:
  char text_[96];
};

}  // namespace xgrad

// Scoped: a value of this thread that holds for a scope.
#pragma once

#include <utility>

namespace xgrad::detail {

/// Sets a variable of the thread, and restores it on destruction, also after an exception. Destroy
/// Scoped objects on the thread that made them, the newest first.
template <class T>
class Scoped {
 public:
  Scoped(T& variable, T value)
      : variable_(variable), before_(std::exchange(variable, std::move(value))) {}
  ~Scoped() { variable_ = std::move(before_); }
  Scoped(const Scoped&) = delete;
  Scoped& operator=(const Scoped&) = delete;

 private:
  T& variable_;
  T before_;
};

}  // namespace xgrad::detail

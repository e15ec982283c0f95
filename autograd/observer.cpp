#include <xgrad/autograd/observer.hpp>

namespace xgrad {

static thread_local OpObserver* current = nullptr;

ScopedObserver::ScopedObserver(OpObserver& observer) : Scoped(current, &observer) {}

OpObserver* op_observer() {
  return current;
}

}  // namespace xgrad

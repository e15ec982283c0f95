#include <xgrad/autograd/observer.hpp>

#include <utility>

namespace xgrad {

namespace {
thread_local OpObserver* current = nullptr;
}

Observing::Observing(OpObserver& observer) : before_(std::exchange(current, &observer)) {}

Observing::~Observing() {
  current = before_;
}

OpObserver* op_observer() {
  return current;
}

}  // namespace xgrad

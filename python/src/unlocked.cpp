#include <xgrad/python/src/unlocked.hpp>

#include <unistd.h>

#include <atomic>
#include <shared_mutex>

namespace xgrad::python {

namespace {

std::atomic<bool> left = false;
thread_local int depth = 0;  // of Unlocked objects: a callback may compute, too
const pid_t process = ::getpid();

// Shared by threads that compute. Never destroyed, since they may outlive static objects.
std::shared_mutex& gate() {
  static std::shared_mutex& mutex = *new std::shared_mutex;
  return mutex;
}

}  // namespace

Unlocked::Unlocked() : thread_(PyEval_SaveThread()) {
  if (depth++ > 0) return;
  while (left) ::pause();
  gate().lock_shared();
}

Unlocked::~Unlocked() {
  PyEval_RestoreThread(thread_);
  if (--depth == 0) gate().unlock_shared();
}

void leave() {
  if (::getpid() != process) return;  // a fork: the threads are not there, but what they locked is
  left = true;
  ++depth;  // this thread may still compute
  PyThreadState* const thread = PyEval_SaveThread();
  gate().lock();
  PyEval_RestoreThread(thread);
}

bool leaving() {
  return left;
}

}  // namespace xgrad::python

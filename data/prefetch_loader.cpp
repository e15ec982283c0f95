#include <xgrad/data/prefetch_loader.hpp>

#include <signal.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include <xgrad/autograd/parallel.hpp>

namespace xgrad {

namespace {

// Threads that start while it lives block all signals but SIGBUS, so that the caller's threads get
// the signals. A thread gets SIGBUS when it reads from a damaged mapped file. If SIGBUS were
// blocked, it would kill the process.
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

PrefetchLoader::PrefetchLoader(Loader loader, std::size_t alone, std::size_t ahead)
    : loader_(std::move(loader)),
      alone_(alone),
      ahead_(std::max<std::size_t>(1, ahead)),
      state_(loader_.state()) {}

Batch PrefetchLoader::next() {
  Made made = has_thread() ? take() : make();
  if (made.error) std::rethrow_exception(made.error);
  state_ = made.after;
  return std::move(*made.batch);
}

void PrefetchLoader::restore(LoaderState state) {
  thread_ = {};  // ends the thread; the next call of next() starts another
  made_.clear();
  loader_.restore(state_);
  loader_.restore(state);  // if this throws, next() continues from state_
  state_ = state;
}

bool PrefetchLoader::has_thread() {
  if (thread_.joinable()) return true;
  if (alone_ > 0) {
    --alone_;
    return false;
  }
  try {
    made_.reserve(ahead_);
    const WithoutSignals quiet;
    thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
    return true;
  } catch (const std::system_error&) {  // no thread available: make batches on this thread
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

PrefetchLoader::Made PrefetchLoader::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !made_.empty(); });
  Made made = std::move(made_.front());
  made_.erase(made_.begin());
  // Waking the thread takes as long as making a small batch.
  const bool few = made_.size() <= ahead_ / 2;
  lock.unlock();
  if (few) changed_.notify_all();
  return made;
}

void PrefetchLoader::work(const std::stop_token& stop) {
  const SerialScope alone;
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return wanted(); }) && !stop.stop_requested()) {
    lock.unlock();
    Made made = make();
    lock.lock();
    made_.push_back(std::move(made));
    changed_.notify_all();
  }
}

PrefetchLoader::Made PrefetchLoader::make() {
  Made made;
  try {
    made.batch.emplace(loader_.next());
  } catch (...) {
    made.error = std::current_exception();
  }
  made.after = loader_.state();
  return made;
}

// Makes no batch after an error, because the caller must see the error first.
bool PrefetchLoader::wanted() const {
  return made_.size() < ahead_ && (made_.empty() || !made_.back().error);
}

}  // namespace xgrad

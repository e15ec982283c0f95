#include <xgrad/data/prefetch_loader.hpp>

#include <system_error>
#include <utility>

#include <xgrad/autograd/parallel.hpp>

namespace xgrad {

PrefetchLoader::PrefetchLoader(Loader loader, std::size_t ahead)
    : loader_(std::move(loader)), ahead_(ahead), state_(loader_.state()) {}

PrefetchLoader::~PrefetchLoader() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Batch PrefetchLoader::next() {
  Made made = has_thread() ? take() : make();
  if (made.error) std::rethrow_exception(made.error);
  state_ = made.after;
  return std::move(made.batch);
}

void PrefetchLoader::restore(LoaderState state) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !busy_; });
  loader_.restore(state);
  made_.clear();
  state_ = state;
  lock.unlock();
  changed_.notify_all();
}

bool PrefetchLoader::has_thread() {
  if (thread_.joinable()) return true;
  if (!std::exchange(asked_, true)) return false;  // perhaps for the only one
  made_.reserve(ahead_);
  try {
    thread_ = std::thread([this] { work(); });
    return true;
  } catch (const std::system_error&) {  // none is to be had: the same batches, later
    return false;
  }
}

PrefetchLoader::Made PrefetchLoader::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !made_.empty(); });
  Made made = std::move(made_.front());
  made_.erase(made_.begin());
  const bool few = made_.size() <= ahead_ / 2;  // to wake a thread takes as long as a small batch
  lock.unlock();
  if (few) changed_.notify_all();
  return made;
}

void PrefetchLoader::work() {
  const SerialScope alone;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || wanted(); });
    if (stop_) return;
    busy_ = true;
    lock.unlock();
    Made made = make();
    lock.lock();
    busy_ = false;
    made_.push_back(std::move(made));
    changed_.notify_all();
  }
}

PrefetchLoader::Made PrefetchLoader::make() {
  try {
    Batch batch = loader_.next();
    return {std::move(batch), loader_.state(), nullptr};
  } catch (...) {
    return {{}, loader_.state(), std::current_exception()};
  }
}

// Nothing is made behind an error: the caller meets it first.
bool PrefetchLoader::wanted() const {
  return made_.size() < ahead_ && (made_.empty() || !made_.back().error);
}

}  // namespace xgrad

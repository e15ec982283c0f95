#include <xgrad/autograd/memory/counters.hpp>

#include <atomic>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {
std::atomic<bool> counting{false};
std::atomic<std::uint64_t> flops_count{0};
std::atomic<std::int64_t> live{0}, peak{0};
}  // namespace

Counters::Counters() {
  check<Error>(!counting.exchange(true),
               "Counters: only one may exist at a time, and there is one already");
  flops_count = 0;
  live = 0;
  peak = 0;
}

Counters::~Counters() {
  counting = false;
}

std::uint64_t Counters::flops() const {
  return flops_count;
}

std::int64_t Counters::live_bytes() const {
  return live;
}

std::int64_t Counters::peak_bytes() const {
  return peak;
}

void detail::count_product(std::size_t m, std::size_t n, std::size_t k) {
  if (!counting.load(std::memory_order_relaxed)) return;
  flops_count.fetch_add(std::uint64_t(2) * m * n * k, std::memory_order_relaxed);
}

void detail::count_memory(std::int64_t bytes) noexcept {
  if (!counting.load(std::memory_order_relaxed)) return;
  const std::int64_t now = live.fetch_add(bytes) + bytes;
  std::int64_t most = peak.load();
  while (now > most && !peak.compare_exchange_weak(most, now)) {
  }
}

}  // namespace xgrad

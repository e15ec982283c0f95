#include "in_turn.hpp"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include <xgrad/autograd/parallel.hpp>
#include <xgrad/autograd/random.hpp>

namespace xgrad::bench {

namespace {

// CPU time of this thread, so that other processes do not count.
double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

double seconds(const Work& work) {
  const double start = now();
  work();
  return now() - start;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void in_turn(benchmark::State& state, const Work& kernel, const Rivals& rivals) {
  // Few rounds of the plain loop, which may take a hundred times as long as the kernel.
  constexpr std::size_t kPlainRounds = 5;
  constexpr double kPlainSeconds = 0.5;
  set_threads(1);
  kernel();  // warm-up: allocates memory and work space
  std::vector<double> own, limit, plain;
  double spent = 0;
  for (auto _ : state) {
    own.push_back(seconds(kernel));
    state.SetIterationTime(own.back());
    limit.push_back(seconds(rivals.limit));
    if (plain.size() == kPlainRounds || spent > kPlainSeconds) continue;
    plain.push_back(seconds(rivals.plain));
    spent += plain.back();
  }
  state.counters["limit"] = median(limit) / median(own);
  state.counters["plain"] = median(plain) / median(own);
}

void add(const std::string& name, const std::function<void(benchmark::State&)>& body) {
  benchmark::RegisterBenchmark(name.c_str(), body)->UseManualTime()->Unit(benchmark::kMicrosecond);
}

Work copy(double tensors, std::size_t size) {
  const auto four = std::make_shared<std::vector<Tensor<float>>>(4, uniform({size}));
  return [four, tensors, size] {
    double left = tensors / 2;
    for (std::size_t i = 0; left > 0; i = 2 - i, left -= 1) {
      const auto part = std::size_t(std::min(1.0, left) * double(size));
      std::memcpy((*four)[i + 1].data(), (*four)[i].data(), part * sizeof(float));
      benchmark::ClobberMemory();
    }
  };
}

Tensor<float> uniform(const Shape& shape) {
  Tensor<float> x = empty<float>(shape);
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = float(Rng(1).uniform(i) - 0.5);
  return x;
}

}  // namespace xgrad::bench

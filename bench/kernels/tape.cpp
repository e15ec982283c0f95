// Measures the cost of a node of the graph besides its kernel: in chains of an op on one number,
// each kernel multiplies once.
#include <xgrad/autograd/ops.hpp>
#include <xgrad/autograd/parallel.hpp>

#include "in_turn.hpp"

namespace xgrad::bench {

namespace {

// Forward and backward. Reports the time of the chain and, as `node`, the time of one node.
void tape(benchmark::State& state) {
  set_threads(1);
  const auto nodes = std::size_t(state.range(0));
  const Variable<float> x(full({1}, 1.0f), true);
  for (auto _ : state) {
    x.zero_grad();
    Variable<float> y = x;
    for (std::size_t i = 0; i < nodes; ++i) y = scale(y, 0.5f);
    y.backward();
  }
  state.counters["node"] = benchmark::Counter(
      double(nodes), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

}  // namespace

void add_tape() {
  benchmark::RegisterBenchmark("tape", tape)->Arg(10)->Arg(100)->Arg(1000);
}

}  // namespace xgrad::bench

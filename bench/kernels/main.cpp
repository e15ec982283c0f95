// Compares the time of each kernel with its limit and with a plain loop, on one thread.
//
//   build/release/bench/kernels                                # all of them
//   build/release/bench/kernels --benchmark_filter=layer_norm  # Google Benchmark's options
//
// in_turn.hpp explains the counters.
#include <cblas.h>

#include <xgrad/autograd/kernels/cpu.hpp>

#include "in_turn.hpp"

int main(int argc, char** argv) {
  openblas_set_num_threads(1);
  benchmark::AddCustomContext("kernels", xgrad::cpu_name(xgrad::cpu()));
  benchmark::AddCustomContext("BLAS core", openblas_get_corename());
  xgrad::bench::add_products();
  xgrad::bench::add_passes();
  xgrad::bench::add_updates();
  xgrad::bench::add_attention();
  xgrad::bench::add_tape();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}

// Kernels timed in turn with their limit and with a plain loop, so that whatever else the machine
// does falls on all of them.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <functional>
#include <string>

#include <xgrad/autograd/tensor.hpp>

namespace xgrad::bench {

using Work = std::function<void()>;

/// What a kernel is compared with.
struct Rivals {
  Work limit;  ///< what bounds it: the BLAS's products of the same shapes, or a copy of its bytes
  Work plain;  ///< the loop that the formula says, as the compiler makes it
};

/// A benchmark that times the kernel, its limit and the plain loop in turn, on one thread.
///
/// Its time is the kernel's, of the processor. Counters, of medians: `limit`, the limit's time
/// divided by the kernel's, which is the share of the limit that the kernel reaches; `plain`, the
/// plain loop's time divided by the kernel's.
void in_turn(benchmark::State& state, const Work& kernel, const Rivals& rivals);

/// Registers a benchmark that runs `body` with the time that in_turn() sets.
void add(const std::string& name, const std::function<void(benchmark::State&)>& body);

/// Copies that read and write so many tensors of `size` numbers together, in turn between two
/// pairs.
Work copy(double tensors, std::size_t size);

/// Random numbers in [-0.5, 0.5).
Tensor<float> uniform(const Shape& shape);

void add_products();
void add_passes();
void add_updates();
void add_attention();
void add_tape();

}  // namespace xgrad::bench

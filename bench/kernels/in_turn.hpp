// Times kernels in turn with their limit and with a plain loop, so that other work of the machine
// slows all three alike.
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
  Work limit;  ///< BLAS products of the same shapes, or a copy of as many bytes
  Work plain;  ///< a plain loop over the formula, as the compiler optimises it
};

/// A benchmark that times the kernel, its limit and the plain loop in turn, on one thread.
///
/// Measures the kernel's CPU time. Two counters are ratios of medians: `limit`, the limit's time
/// divided by the kernel's, which is the share of the limit that the kernel reaches; and `plain`,
/// the plain loop's time divided by the kernel's.
void in_turn(benchmark::State& state, const Work& kernel, const Rivals& rivals);

/// Registers a benchmark that runs `body` with the time that in_turn() sets.
void add(const std::string& name, const std::function<void(benchmark::State&)>& body);

/// Returns work that copies: it reads and writes `tensors` tensors of `size` numbers in total, and
/// alternates between two pairs of tensors.
Work copy(double tensors, std::size_t size);

/// Random numbers in [-0.5, 0.5).
Tensor<float> uniform(const Shape& shape);

void add_products();
void add_passes();
void add_updates();
void add_attention();
void add_tape();

}  // namespace xgrad::bench

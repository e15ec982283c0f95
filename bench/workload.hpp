// What bench/train_step trains, and the matrix products that a step of it cannot do without.
#pragma once

#include <cstddef>

#include <xgrad/autograd/tensor.hpp>

namespace xgrad::bench {

/// A pre-norm encoder over tokens, and its batch.
struct Workload {
  std::size_t batch = 32, tokens = 16, width = 64, heads = 4, layers = 2, vocabulary = 16;
  double dropout = 0.1;
  int threads = 1;
};

/// The products of a training step alone, one after the other, on numbers of no meaning.
class Products {
 public:
  explicit Products(const Workload& workload) : w_(workload) {}
  /// All of them once; returns a number of their results.
  double run();

 private:
  void linear(std::size_t in, std::size_t out);
  void attention();

  Workload w_;
  Tensor<float> inputs_, weight_, results_, dweight_;  // made by the first run
};

}  // namespace xgrad::bench

// The model that bench/train_step trains, and the matrix products of one of its training steps.
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

/// The matrix products of a training step, one after the other, on arbitrary numbers.
class Products {
 public:
  explicit Products(const Workload& workload) : w_(workload) {}
  /// Computes all products once; returns one of the resulting numbers.
  double run();

 private:
  void linear(std::size_t in, std::size_t out);
  void attention();

  Workload w_;
  Tensor<float> inputs_, weight_, results_, dweight_;  // made by the first run
};

}  // namespace xgrad::bench

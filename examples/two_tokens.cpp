// Self-attention of two tokens, written with ops: each token learns to look at the other one.
#include <cmath>
#include <cstdio>

#include <xgrad/engine.hpp>

using namespace xgrad;

int main() {
  const Variable<double> tokens(tensor<double>({{1, 1}, {1, 0}}));  // (N, D): a token in each row
  const Variable<double> others(tensor<double>({{1, 0}, {1, 1}}));  // the output that we want

  // These matrices compute a query and a key from each token. Each token is its own value.
  const Variable<double> w_q(tensor<double>({{1, 1}, {0, 1}}), /*requires_grad=*/true);
  const Variable<double> w_k(tensor<double>({{0, 1}, {1, -1}}), /*requires_grad=*/true);

  for (int step = 0; step <= 200; ++step) {
    w_q.zero_grad();
    w_k.zero_grad();
    const auto q = matmul(tokens, w_q), k = matmul(tokens, w_k);
    const auto scores = matmul(q, k, /*transpose_a=*/false, /*transpose_b=*/true) / std::sqrt(2.0);
    const auto weights = softmax(scores);  // row i: how much token i looks at each token
    const auto loss = mse_loss(matmul(weights, tokens), others);
    loss.backward();
    if (step % 50 == 0) {
      const Tensor<double>& p = weights.value();
      std::printf("step %3d  token 1 looks at (%.2f, %.2f), token 2 at (%.2f, %.2f)  loss %.4f\n",
                  step, p(0, 0), p(0, 1), p(1, 0), p(1, 1), loss.item());
    }
    for (const auto& w : {w_q, w_k}) w.mutable_value() -= 1.0 * w.grad();  // gradient descent
  }
}

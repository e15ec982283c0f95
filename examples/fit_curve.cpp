// Fits a curve with the engine alone: two layers learn sin(x) from 64 points.
#include <cmath>
#include <cstdio>

#include <xgrad/engine.hpp>

using namespace xgrad;

int main() {
  Tensor<float> points = empty<float>({64, 1}), heights = empty<float>({64, 1});
  for (std::size_t i = 0; i < 64; ++i) {
    points(i, 0) = -3.15f + 0.1f * float(i);
    heights(i, 0) = std::sin(points(i, 0));
  }
  const Variable<float> x(points), y(heights);

  Parameters<float> parameters(/*seed=*/1);
  const Linear<float> hidden(parameters.root() / "hidden", 1, 16);
  const Linear<float> output(parameters.root() / "output", 16, 1);
  const auto adam = make_optimizer<float>("adam", parameters, {});
  const Schedule rate(Schedule::Shape::cosine, /*lr=*/0.02, /*steps=*/1000, /*warmup=*/0, {});

  for (std::uint64_t step = 0; step < 1000; ++step) {
    parameters.zero_grad();
    const auto loss = mse_loss(output(tanh(hidden(x))), y);
    loss.backward();
    if (step % 250 == 0) std::printf("step %4d  loss %.6f\n", int(step), loss.item());
    adam->step(rate(step));
  }

  const NoGrad no_graph;  // from here on, ops record nothing
  for (const float at : {-2.0f, 0.5f, 1.0f}) {
    const auto learned = output(tanh(hidden(Variable<float>(tensor<float>({{at}})))));
    std::printf("sin(%4.1f) = %5.2f, learned %5.2f\n", at, std::sin(at), learned.item());
  }
}

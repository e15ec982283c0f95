// A program of somebody else: builds an encoder, overfits one batch, and prints the loss before and
// after.
#include <cstdio>

#include <xgrad/engine.hpp>

int main() {
  using namespace xgrad;

  EncoderModelOptions options;
  options.input.vocabulary = 10;
  options.input.max_length = 6;
  options.encoder.layers = 1;
  options.encoder.attention.width = 16;
  options.encoder.attention.heads = 2;
  options.classes = 10;

  Parameters<float> parameters(1);
  const EncoderModel<float> model(parameters.root(), options);
  const auto adam = make_optimizer("adam", parameters, {});

  // Reverse four rows of digits.
  const Rng rng(2);
  Ids ids = empty<std::int32_t>({4, 6});
  Ids targets = empty<std::int32_t>({4, 6});
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t i = 0; i < 6; ++i) {
      ids(row, i) = targets(row, 5 - i) = std::int32_t(rng.below(10, row * 6 + i));
    }
  }

  ModelInput<float> input;
  input.ids = &ids;
  float first = 0, last = 0;
  for (int step = 0; step < 100; ++step) {
    parameters.zero_grad();
    const auto context = Context::train(/*seed=*/1, adam->steps());
    const Variable<float> loss = cross_entropy(model(input, context), targets);
    loss.backward();
    adam->step(0.01);
    last = loss.item();
    if (step == 0) first = last;
  }
  std::printf("%.3f -> %.3f\n", first, last);
  return last < first / 10 ? 0 : 1;
}

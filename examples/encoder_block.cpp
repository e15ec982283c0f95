// An encoder block, written with the engine's small layers and ops. It learns to sort six digits.
#include <algorithm>
#include <cstdio>

#include <xgrad/engine.hpp>

using namespace xgrad;

class Block {
 public:
  Block(const Scope<float>& scope, std::size_t width)
      : norm1_(scope / "norm1", width),
        norm2_(scope / "norm2", width),
        qkv_(scope / "qkv", width, 3 * width),
        out_(scope / "out", width, width),
        up_(scope / "up", width, 4 * width),
        down_(scope / "down", 4 * width, width) {}

  // x (B, N, D) -> (B, N, D). Attention mixes the tokens, then the MLP changes each token alone.
  Variable<float> operator()(const Variable<float>& x) const {
    const auto z = x + out_(self_attention(qkv_(norm1_(x)), {.heads = 4}));
    return z + down_(gelu(up_(norm2_(z))));
  }

 private:
  Norm<float> norm1_, norm2_;
  Linear<float> qkv_, out_, up_, down_;
};

int main() {
  constexpr std::size_t kBatch = 64, kLength = 6, kWidth = 32;
  Parameters<float> parameters(/*seed=*/1);
  const Scope<float> root = parameters.root();
  const Embedding<float> token(root / "token", 10, kWidth), place(root / "place", kLength, kWidth);
  const Block block(root / "block", kWidth);
  const Linear<float> head(root / "head", kWidth, 10);
  const auto adam = make_optimizer<float>("adam", parameters, {});
  const Ids places = tensor<std::int32_t>({0, 1, 2, 3, 4, 5});
  const auto model = [&](const Ids& ids) { return head(block(token(ids) + place(places))); };

  for (int step = 1; step <= 200; ++step) {
    Ids digits = empty<std::int32_t>({kBatch, kLength});
    const Rng rng = Rng(/*seed=*/2) / std::uint64_t(step);
    for (std::size_t i = 0; i < digits.size(); ++i)
      digits.data()[i] = std::int32_t(rng.below(10, i));
    Ids sorted = digits;
    for (std::size_t i = 0; i < kBatch; ++i) std::sort(&sorted(i, 0), &sorted(i, 0) + kLength);
    parameters.zero_grad();
    const auto loss = cross_entropy(model(digits), sorted);
    loss.backward();
    adam->step(/*lr=*/3e-3);
    if (step % 50 == 0) std::printf("step %d  loss %.3f\n", step, loss.item());
  }
  const Ids answer = argmax(model(tensor<std::int32_t>({{3, 1, 4, 1, 5, 9}})).value(), -1);
  std::printf("3 1 4 1 5 9 ->");
  for (const auto digit : answer) std::printf(" %d", int(digit));
  std::printf("\n");
}

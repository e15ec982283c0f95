// Your own model, with attention in linear time (Katharopoulos et al. 2020):
//
//     own_attention train own_attention.toml
//     own_attention gradcheck own_attention.toml
#include <xgrad/cli/command_line.hpp>
#include <xgrad/layers/embedding.hpp>
#include <xgrad/layers/layers.hpp>
#include <xgrad/train/model/parts.hpp>

using namespace xgrad;

// y_n = sum_m (f(q_n) . f(k_m)) v_m / sum_m f(q_n) . f(k_m), with f = exp.
template <class T>
class LinearAttention {
 public:
  LinearAttention(const Scope<T>& scope, std::size_t width)
      : q_(scope / "q_proj", width, width),
        k_(scope / "k_proj", width, width),
        v_(scope / "v_proj", width, width) {}

  Variable<T> operator()(const Variable<T>& x) const {
    const Variable<T> q = exp(q_(x)), k = exp(k_(x));                 // (B, N, D)
    const Variable<T> sums = matmul(k, v_(x), /*transpose_a=*/true);  // (B, D, D)
    const std::size_t b = x.shape()[0], n = x.shape()[1], d = x.shape()[2];
    const Variable<T> total = sum(mul(q, reshape(sum(k, 1), {b, 1, d})), 2);
    return div(matmul(q, sums), reshape(total, {b, n, 1}));
  }

 private:
  Linear<T> q_, k_, v_;
};

// A model with this attention, for sequences of equal length with a label for each token.
template <class T>
class LinearModel final : public SequenceModel<T> {
 public:
  LinearModel(const Scope<T>& root, const ModelConfig& config, const TaskShape& shape,
              const Options& own)
      : embedding_(root / "embedding", shape.vocabulary, config.width),
        attention_(root / "attention", config.width),
        head_(root / "head", config.width, shape.classes),
        residual_(T(get_double(own, "residual"))) {}

  Variable<T> operator()(const ModelInput<T>& input, const Context&) const override {
    const Variable<T> x = embedding_(*input.ids);
    return head_(gelu(add(scale(x, residual_), attention_(x))));
  }

 private:
  Embedding<T> embedding_;
  LinearAttention<T> attention_;
  Linear<T> head_;
  T residual_;
};

int main(int argc, char** argv) {
  const OptionSpec residual{"residual", 1.0, "Weight of the residual path.", 0, 10};
  add_model<LinearModel>({"linear", "an encoder with linear attention.", {residual}, {"width"}});
  return command_line(argc, argv);
}

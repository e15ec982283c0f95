// In-context linear regression: each prompt shows values of a linear function of its own, and a
// model must find the function from them.
#include <limits>

#include <xgrad/data/synthetic/synthetic.hpp>

namespace xgrad {

namespace {

struct Sizes {
  std::size_t dimension, pairs;
  double noise;  // standard deviation
  // Numbers in a token: x and y.
  std::size_t features() const { return dimension + 1; }
};

// Draws x_1, y_1, x_2, y_2, ... x_n. A token of x has 0 in place of y. A token of y has 0 in all
// other places. The target at each token of x is its y. No token contains the last y.
Example draw_prompt(const Rng& rng, const Sizes& sizes) {
  const std::size_t d = sizes.dimension, n = sizes.pairs;
  const auto w = (rng / "w").normals(d), x = (rng / "x").normals(n * d),
             noise = (rng / "noise").normals(n);
  Example example;
  example.features.resize((2 * n - 1) * sizes.features());
  example.values.resize(2 * n - 1, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t i = 0; i < n; ++i) {
    float* const token = example.features.data() + 2 * i * sizes.features();
    double y = sizes.noise * noise[i];
    for (std::size_t k = 0; k < d; ++k) {
      token[k] = float(x[i * d + k]);
      y += w[k] * double(token[k]);
    }
    example.values[2 * i] = float(y);
    if (i + 1 < n) token[sizes.features() + d] = float(y);
  }
  return example;
}

// The expected squared errors of the best guesses of all y, each from the pairs before it. Given
// these pairs, w is normal, so ridge regression with lambda = noise^2 gives the best guess. The
// covariance P of w is I at first. Recursive least squares updates it with each pair (x, y):
//
//     E[(y - guess)^2] = x^T P x + noise^2,    P <- P - P x (P x)^T / (x^T P x + noise^2)
Synthetic::Best least_squares(const std::vector<float>& features, const Sizes& sizes) {
  constexpr double kRounding = 1e-12;  // of x^T P x relative to x^T x
  const std::size_t d = sizes.dimension;
  std::vector<double> covariance(d * d), product(d);
  for (std::size_t k = 0; k < d; ++k) covariance[k * d + k] = 1;
  Synthetic::Best sum;
  for (std::size_t i = 0; i < sizes.pairs; ++i) {
    const float* const x = features.data() + 2 * i * sizes.features();
    double unknown = 0, square = 0;
    for (std::size_t a = 0; a < d; ++a) {
      product[a] = 0;
      for (std::size_t b = 0; b < d; ++b) product[a] += covariance[a * d + b] * double(x[b]);
      unknown += double(x[a]) * product[a];
      square += double(x[a]) * double(x[a]);
    }
    const double variance = unknown + sizes.noise * sizes.noise;
    sum.loss += variance;
    sum.targets += 1;
    // The earlier pairs determine y up to rounding: without noise, d pairs determine w.
    if (unknown <= kRounding * square) continue;
    for (std::size_t a = 0; a < d; ++a) {
      for (std::size_t b = 0; b < d; ++b) {
        covariance[a * d + b] -= product[a] * product[b] / variance;
      }
    }
  }
  return sum;
}

}  // namespace

TaskEntry linear_regression_task() {
  TaskEntry about{
      .name = "linear_regression",
      .summary =
          "Predict y = w x + noise for each vector x of a prompt from the pairs (x, y) "
          "before it; each prompt has its own w.",
      .options = {{"dimension", 5, "Numbers in x and in w, all standard normal.", 1, 1024},
                  {"pairs", 11,
                   "Pairs (x, y) in a prompt, given as the tokens x_1, y_1, x_2, y_2, ... The last "
                   "y is only a target.",
                   1, 32768},
                  {"noise", 0.0, "Standard deviation of the noise added to y.", 0.0, 100.0}},
      .needs =
          "A causal mask, because without it a vector sees its own y in the next token; "
          "positions and several layers.",
      .theory =
          "needs positions and depth: the first layer joins each y to its x, and each later layer "
          "can take a step of gradient descent (von Oswald et al. 2023, arXiv:2212.07677)",
      .source = "Garg et al. 2022, arXiv:2208.01066",
      .best = kComputed};
  return synthetic_task(std::move(about), [](const Options& options, Synthetic& task) {
    const Sizes sizes{get_size(options, "dimension"), get_size(options, "pairs"),
                      get_double(options, "noise")};
    task.is_continuous = true;
    task.shape = {.input = InputKind::vectors,
                  .max_length = 2 * sizes.pairs - 1,
                  .classes = 1,
                  .features = sizes.features(),
                  .causal = true,
                  .target = TargetKind::numbers};
    task.draw = [sizes](const Rng& rng) { return draw_prompt(rng, sizes); };
    task.best = [sizes](const Example& prompt) { return least_squares(prompt.features, sizes); };
  });
}

}  // namespace xgrad

#include "autograd/op_table.hpp"

namespace xgrad::test {

namespace {

// Rows with two to four elements above tau by 0.15 and more, the others 0.1 and more below it.
Tensor<double> sparse_logits(const Rng& rng, std::size_t rows, std::size_t n) {
  Tensor<double> x = empty<double>({rows, n});
  for (std::size_t row = 0; row < rows; ++row) {
    const Rng here = rng / row;
    const std::size_t support = random_size(here / "support", 2, std::min<std::size_t>(4, n));
    const double tau = here.uniform(0) - 0.5;
    double* z = x.data() + row * n;
    for (std::size_t i = 0; i < n; ++i) z[i] = tau - 0.1 - 2 * here.uniform(1 + i);
    double total = 0;
    std::vector<double> share(support);
    for (std::size_t i = 0; i < support; ++i) total += share[i] = here.uniform(100000 + i);
    const std::size_t start = random_size(here / "start", 0, n - 1);
    for (std::size_t i = 0; i < support; ++i) {
      const double p = 0.15 + (1 - 0.15 * double(support)) * share[i] / total;
      z[(start + i * (n / support)) % n] = tau + p;
    }
  }
  return x;
}

OpCase sparsemax_case() {
  return {.op = "sparsemax",
          .sample =
              [](const Rng& rng, std::size_t n) {
                return Sample([](const auto& x) { return sparsemax(x[0]); },
                              {sparse_logits(rng / "x", random_size(rng / "rows", 1, 3), n + 1)});
              },
          .wrong_calls = {[] { sparsemax(ones({})); }}};
}

OpCase additive_scores_case(const char* variant, bool wide) {
  return {.op = "additive_scores",
          .variant = variant,
          .sample =
              [wide](const Rng& rng, std::size_t n) {
                const std::size_t batch = random_size(rng / "B", 1, 3),
                                  heads = random_size(rng / "H", 1, 3),
                                  queries = random_size(rng / "N", 1, 3),
                                  keys = wide ? random_size(rng / "M", 1, 3) : n,
                                  width = wide ? n : random_size(rng / "a", 1, 3);
                return Sample([](const auto& x) { return additive_scores(x[0], x[1], x[2]); },
                              {random_tensor({batch, queries, heads * width}, rng / "q"),
                               random_tensor({batch, keys, heads * width}, rng / "k"),
                               random_tensor({heads, width}, rng / "w")});
              },
          .wrong_calls = {
              [] {
                additive_scores(ones({2, 4}), ones({1, 2, 4}), ones({2, 2}));
              },
              [] {
                additive_scores(ones({1, 2, 4}), ones({1, 2, 4}), ones({4}));
              },
              [] {
                additive_scores(ones({1, 2, 4}), ones({2, 2, 4}), ones({2, 2}));
              },
              [] {
                additive_scores(ones({1, 2, 4}), ones({1, 2, 6}), ones({2, 2}));
              },
              [] {
                additive_scores(ones({1, 2, 4}), ones({1, 2, 4}), ones({2, 3}));
              },
          },
          .large = 5003};
}

}  // namespace

std::vector<OpCase> score_cases() {
  return {sparsemax_case(), additive_scores_case("", false), additive_scores_case("wide", true)};
}

}  // namespace xgrad::test

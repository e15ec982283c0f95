// Ops that cut their rows into blocks, with n rows of few features: the other rows of the table
// have few rows, which make one block.
#include "autograd/op_table.hpp"

namespace xgrad::test {

namespace {

// Of f over x (n, 3) and whatever else `inputs` adds.
template <class F>
OpCase many_rows(const char* op, std::size_t large, F f, std::vector<Shape> inputs = {}) {
  const auto sample = [=](const Rng& rng, std::size_t n) {
    std::vector<Tensor<double>> x = {random_tensor({n, 3}, rng / "x", -2, 2)};
    for (std::size_t i = 0; i < n; ++i) x[0](i, 1) += 4;  // a variance well above zero
    for (const Shape& shape : inputs) x.push_back(random_tensor(shape, rng / x.size()));
    return Sample([=](const auto& in) { return f(in, rng, n); }, std::move(x));
  };
  return {.op = op, .variant = "many_rows", .sample = sample, .terms = 4, .large = large};
}

OpCase embedding_case() {
  return {.op = "embedding",
          .variant = "many_rows",
          .sample =
              [](const Rng& rng, std::size_t n) {
                const Ids ids = random_ids({n}, rng / "ids", 7);
                return Sample([ids](const auto& x) { return embedding(x[0], ids); },
                              {random_tensor({7, 5}, rng / "weight")});
              },
          .large = 30011};
}

DropoutOptions dropout_of(const Rng& rng, std::size_t n) {
  DropoutOptions dropout{.p = 0.3, .rng = rng / "mask"};
  for (std::vector<double> factors(3 * n, 0); factors[0] == 0;) {  // the first has to pass
    ++dropout.first_sample;
    dropout_factors(*dropout.rng, dropout.p, dropout.first_sample, 0, 0, 3, factors.data());
  }
  return dropout;
}

}  // namespace

std::vector<OpCase> many_rows_cases() {
  const auto affine = [](const auto& x, const Rng&, std::size_t) {
    return linear(x[0], x[1], x[2]);
  };
  const auto affine_gelu = [](const auto& x, const Rng&, std::size_t) {
    return linear_gelu(x[0], x[1], x[2]);
  };
  const auto norm = [](const auto& x, const Rng&, std::size_t) {
    return layer_norm(x[0], x[1], x[2]);
  };
  const auto loss = [](const auto& x, const Rng& rng, std::size_t n) {
    return cross_entropy(x[0], random_ids({n}, rng / "targets", 3), {.label_smoothing = 0.1});
  };
  return {
      many_rows("linear", 1009, affine, {{2, 3}, {2}}),
      many_rows("linear_gelu", 1009, affine_gelu, {{2, 3}, {2}}),
      many_rows("layer_norm", 50021, norm, {{3}, {3}}),
      many_rows("rms_norm", 50021,
                [](const auto& x, const Rng&, std::size_t) { return rms_norm(x[0], x[1]); }, {{3}}),
      many_rows("cross_entropy", 20011, loss),
      many_rows("softmax", 20011,
                [](const auto& x, const Rng&, std::size_t) { return softmax(x[0]); }),
      many_rows("log_softmax", 20011,
                [](const auto& x, const Rng&, std::size_t) { return log_softmax(x[0]); }),
      many_rows("dropout", 20011,
                [](const auto& x, const Rng& rng, std::size_t n) {
                  return dropout(x[0], dropout_of(rng, n));
                }),
      many_rows("dropout_add", 20011,
                [](const auto& x, const Rng& rng, std::size_t n) {
                  return dropout_add(x[0], scale(x[0], 0.5), dropout_of(rng, n));
                }),
      embedding_case(),
  };
}

}  // namespace xgrad::test

// matmul, linear, linear_gelu.
#include "autograd/op_table.hpp"

namespace xgrad::test {

namespace {

Shape with_matrix(Shape batch, std::size_t rows, std::size_t columns, bool transposed) {
  batch.push_back(transposed ? columns : rows);
  batch.push_back(transposed ? rows : columns);
  return batch;
}

// Any flags, batches that broadcast either way; the shared extent is n, or the rows or the columns
// are.
Sample matmul_sample(const Rng& rng, std::size_t n) {
  const bool ta = rng.uniform(0) < 0.5, tb = rng.uniform(1) < 0.5;
  std::vector<std::size_t> extents = {n, random_size(rng / "m", 1, 3),
                                      random_size(rng / "k", 1, 3)};
  const auto order = (rng / "order").permutation(3);
  const std::size_t m = extents[order[0]], k = extents[order[1]], columns = extents[order[2]];
  Shape batch(random_size(rng / "rank", 0, 2));
  for (std::size_t axis = 0; axis < batch.size(); ++axis)
    batch[axis] = random_size(rng / axis, 1, 3);
  const auto operand_batch = [&](const Rng& own) {
    Shape result = batch;
    for (std::size_t axis = 0; axis < batch.size(); ++axis) {
      if (own.uniform(axis) < 0.3) result[axis] = 1;
    }
    const std::size_t drop = random_size(own / "drop", 0, batch.size());
    return Shape(result.begin() + std::ptrdiff_t(drop), result.end());
  };
  return Sample(
      [=](const auto& x) { return matmul(x[0], x[1], ta, tb); },
      {random_tensor(with_matrix(operand_batch(rng / "a"), m, k, ta), rng / "a" / "x"),
       random_tensor(with_matrix(operand_batch(rng / "b"), k, columns, tb), rng / "b" / "x")});
}

// x of rank 1 to 3 with n features, or n features out.
std::vector<Tensor<double>> linear_inputs(const Rng& rng, std::size_t n, bool bias) {
  std::size_t in = n, out = random_size(rng / "out", 1, 3);
  if (rng.uniform(0) < 0.5) std::swap(in, out);
  Shape shape(random_size(rng / "rank", 0, 2));
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    shape[axis] = random_size(rng / axis, 1, 3);
  shape.push_back(in);
  std::vector<Tensor<double>> inputs = {random_tensor(shape, rng / "x", -2, 2),
                                        random_tensor({out, in}, rng / "weight")};
  if (bias) inputs.push_back(random_tensor({out}, rng / "bias"));
  return inputs;
}

template <class F>
OpCase affine(const char* op, const char* variant, bool bias, F f) {
  const auto call = [f](const Shape& x, const Shape& weight, const Shape& b) {
    f(std::vector{ones(x), ones(weight), ones(b)});
  };
  const auto sample = [=](const Rng& rng, std::size_t n) {
    return Sample(f, linear_inputs(rng, n, bias));
  };
  const auto other_features = [=] { call({8, 16}, {64, 32}, {64}); };
  const auto scalar = [=] { call({}, {2, 1}, {2}); };
  const auto vector_for_weight = [=] { call({2, 3}, {3}, {3}); };
  OpCase row = {.op = op,
                .variant = variant,
                .sample = sample,
                .wrong_calls = {other_features, scalar, vector_for_weight},
                .terms = 4};
  if (bias) row.wrong_calls.push_back([=] { call({2, 3}, {4, 3}, {3}); });
  return row;
}

OpCase matmul_case() {
  const auto inner_sizes = [] { matmul(ones({32, 64}), ones({32, 64})); };
  const auto vector = [] { matmul(ones({3}), ones({3, 2})); };
  const auto transposed = [] { matmul(ones({3, 2}), ones({3, 2}), true, true); };
  const auto batches = [] { matmul(ones({2, 3, 4}), ones({3, 4, 3})); };
  return {.op = "matmul",
          .sample = matmul_sample,
          .wrong_calls = {inner_sizes, vector, transposed, batches}};
}

}  // namespace

std::vector<OpCase> product_cases() {
  const auto exact = [](const auto& x) { return linear_gelu(x[0], x[1], x[2]); };
  const auto tanh = [](const auto& x) { return linear_gelu(x[0], x[1], x[2], Gelu::tanh); };
  const auto without_bias = [](const auto& x) { return linear_gelu(x[0], x[1]); };
  const auto dropped = [](const auto& x) {
    return linear_gelu(x[0], x[1], x[2], Gelu::tanh, {.p = 0.4, .rng = Rng(5)});
  };
  return {
      matmul_case(),
      affine("linear", "", true, [](const auto& x) { return linear(x[0], x[1], x[2]); }),
      affine("linear", "without_bias", false, [](const auto& x) { return linear(x[0], x[1]); }),
      affine("linear_gelu", "exact", true, exact),
      affine("linear_gelu", "tanh", true, tanh),
      affine("linear_gelu", "dropped", true, dropped),
      affine("linear_gelu", "without_bias", false, without_bias),
  };
}

}  // namespace xgrad::test

#include "autograd/op_table.hpp"

namespace xgrad::test {

namespace {

using V = Variable<double>;

DropoutOptions random_dropout(const Rng& rng, double p) {
  return {.p = p, .rng = rng / "mask", .first_sample = std::uint32_t(rng.below(5, 0))};
}

Shape random_shape(const Rng& rng, std::size_t n) {
  const std::size_t rank = random_size(rng / "rank", 1, 4);
  Shape shape;
  for (std::size_t axis = 1; axis < rank; ++axis) shape.push_back(random_size(rng / axis, 1, 3));
  shape.push_back(n);
  return shape;
}

}  // namespace

std::vector<OpCase> dropout_cases() {
  OpCase dropout_case{
      .op = "dropout",
      .sample =
          [](const Rng& rng, std::size_t n) {
            DropoutOptions options = random_dropout(rng, 0.3);
            // One element at least has to pass, or there is nothing to check.
            const Shape shape = random_shape(rng, n);
            std::vector<double> first(n);
            do {
              ++options.first_sample;
              dropout_factors(*options.rng, options.p, options.first_sample, 0, 0, n, first.data());
            } while (first[0] == 0);
            return Sample([options](const auto& x) { return dropout(x[0], options); },
                          {random_tensor(shape, rng / "x", -2, 2)});
          },
      .wrong_calls = {[] { dropout(V(full({}, 1.0)), {.p = 0.5}); },
                      [] {
                        dropout(V(full({2, 2}, 1.0)), {.p = 1});
                      },
                      [] {
                        dropout(V(full({2, 2}, 1.0)), {.p = -0.1});
                      }}};
  OpCase dropout_add_case{
      .op = "dropout_add",
      .sample =
          [](const Rng& rng, std::size_t n) {
            const DropoutOptions options = random_dropout(rng, 0.3);
            const Shape shape = random_shape(rng, n);
            return Sample(
                [options](const auto& x) { return dropout_add(x[0], x[1], options); },
                {random_tensor(shape, rng / "x"), random_tensor(shape, rng / "residual")});
          },
      .wrong_calls = {[] { dropout_add(V(full({}, 1.0)), V(full({}, 1.0)), {.p = 0.5}); },
                      [] {
                        dropout_add(V(full({2, 2}, 1.0)), V(full({2}, 1.0)), {.p = 0});
                      },
                      [] {
                        dropout_add(V(full({2, 2}, 1.0)), V(full({2, 1}, 1.0)), {.p = 0.5});
                      },
                      [] { dropout_add(V(full({2}, 1.0)), V(full({2}, 1.0)), {.p = 1}); }}};
  return {dropout_case, dropout_add_case};
}

}  // namespace xgrad::test

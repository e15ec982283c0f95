// sum, mean, masked_mean, masked_max.
#include "autograd/op_table.hpp"

namespace xgrad::test {

namespace {

Tensor<double> random_input(const Rng& rng, std::size_t n) {
  Shape shape(random_size(rng / "rank", 1, 3));
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    shape[axis] = random_size(rng / axis, 1, 3);
  shape[random_size(rng / "place", 0, shape.size() - 1)] = n;
  return random_tensor(shape, rng / "x", -2, 2);
}

// Inputs lie in [-2, 2]; a mean may be much smaller.
template <class F>
OpCase over_all(const char* op, F f) {
  return {
      .op = op,
      .sample = [f](const Rng& rng, std::size_t n) { return Sample(f, {random_input(rng, n)}); },
      .terms = 2};
}

template <class F>
OpCase over_axis(const char* op, F f) {
  const auto sample = [f](const Rng& rng, std::size_t n) {
    const Tensor<double> x = random_input(rng, n);
    const std::size_t axis = random_size(rng / "axis", 0, x.dimension() - 1);
    return Sample([f, axis](const auto& in) { return f(in[0], axis); }, {x});
  };
  const auto no_axis = [f] { f(ones({2, 3}), 2); };
  const auto scalar = [f] { f(ones({}), 0); };
  return {
      .op = op, .variant = "axis", .sample = sample, .wrong_calls = {no_axis, scalar}, .terms = 2};
}

// Masks keep some tokens, all or none; one sample at least keeps one.
Sample masked_mean_sample(const Rng& rng, std::size_t n) {
  const Shape shape{random_size(rng / "b", 1, 3), random_size(rng / "n", 1, 4), n};
  auto mask =
      std::make_shared<Mask>(random_mask({shape[0], shape[1]}, rng / "mask", rng.uniform(0)));
  mask->data()[rng.below(mask->size(), 1)] = 1;
  return Sample([mask](const auto& x) { return masked_mean(x[0], mask); },
                {random_tensor(shape, rng / "x", -2, 2)});
}

OpCase masked_mean_case() {
  const auto mask = [](const Shape& shape) {
    return std::make_shared<const Mask>(full<std::uint8_t>(shape, 1));
  };
  const auto rank = [=] { masked_mean(ones({2, 3}), mask({2, 3})); };
  const auto extents = [=] { masked_mean(ones({2, 3, 4}), mask({3, 2})); };
  const auto mask_rank = [=] { masked_mean(ones({2, 3, 4}), mask({2, 3, 4})); };
  const auto nothing = [=](const Shape& shape) {
    const auto all = mask({shape[0], shape[1]});
    return Sample([all](const auto& x) { return masked_mean(x[0], all); }, {zeros<double>(shape)});
  };
  return {.op = "masked_mean",
          .sample = masked_mean_sample,
          .wrong_calls = {rank, extents, mask_rank},
          .zero_extents = {nothing({0, 2, 3}), nothing({2, 0, 3})},
          .terms = 2};
}

// No two tokens are near each other in any feature.
Sample masked_max_sample(const Rng& rng, std::size_t n) {
  const Shape shape{random_size(rng / "b", 1, 3), random_size(rng / "n", 1, 4), n};
  auto mask =
      std::make_shared<Mask>(random_mask({shape[0], shape[1]}, rng / "mask", rng.uniform(0)));
  mask->data()[rng.below(mask->size(), 1)] = 1;
  if (rng.uniform(2) < 0.3) mask = nullptr;
  Tensor<double> x = random_tensor(shape, rng / "x", -0.1, 0.1);
  for (std::size_t b = 0; b < shape[0]; ++b) {
    for (std::size_t j = 0; j < n; ++j) {
      const auto order = (rng / "order" / b / j).permutation(shape[1]);
      for (std::size_t t = 0; t < shape[1]; ++t) x(b, t, j) += 0.5 * double(order[t]) - 0.8;
    }
  }
  return Sample([mask](const auto& in) { return masked_max(in[0], mask); }, {x});
}

OpCase masked_max_case() {
  const auto mask = [](const Shape& shape) {
    return std::make_shared<const Mask>(full<std::uint8_t>(shape, 1));
  };
  const auto rank = [] { masked_max(ones({2, 3})); };
  const auto extents = [=] { masked_max(ones({2, 3, 4}), mask({3, 2})); };
  const auto mask_rank = [=] { masked_max(ones({2, 3, 4}), mask({2, 3, 4})); };
  const auto nothing = [=](const Shape& shape) {
    const auto all = mask({shape[0], shape[1]});
    return Sample([all](const auto& x) { return masked_max(x[0], all); }, {zeros<double>(shape)});
  };
  return {.op = "masked_max",
          .sample = masked_max_sample,
          .wrong_calls = {rank, extents, mask_rank},
          .zero_extents = {nothing({0, 2, 3}), nothing({2, 0, 3})}};
}

}  // namespace

std::vector<OpCase> reduce_cases() {
  return {
      over_all("sum", [](const auto& x) { return sum(x[0]); }),
      over_axis("sum", [](const auto& x, std::size_t axis) { return sum(x, axis); }),
      over_all("mean", [](const auto& x) { return mean(x[0]); }),
      over_axis("mean", [](const auto& x, std::size_t axis) { return mean(x, axis); }),
      masked_mean_case(),
      masked_max_case(),
  };
}

}  // namespace xgrad::test

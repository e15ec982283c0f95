// reshape, transpose, slice, select, concat, take.
#include "autograd/op_table.hpp"

namespace xgrad::test {

namespace {

// A random shape of 1 to 4 axes, one of them of extent n.
Shape random_shape(const Rng& rng, std::size_t n) {
  Shape shape(random_size(rng / "rank", 1, 4));
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    shape[axis] = random_size(rng / axis, 1, 3);
  shape[random_size(rng / "place", 0, shape.size() - 1)] = n;
  return shape;
}

std::size_t random_axis(const Rng& rng, const Shape& shape) {
  return random_size(rng / "axis", 0, shape.size() - 1);
}

Sample reshape_sample(const Rng& rng, std::size_t n) {
  const std::size_t a = random_size(rng / "a", 1, 3), b = random_size(rng / "b", 1, 3);
  const std::vector<Shape> shapes = {
      {a, n, b}, {n * b, a}, {1, a * n * b}, {b, 1, a, n}, {a * b * n}};
  const Shape from = shapes[rng.below(shapes.size(), 0)], to = shapes[rng.below(shapes.size(), 1)];
  return Sample([to](const auto& x) { return reshape(x[0], to); },
                {random_tensor(from, rng / "x")});
}

Sample transpose_sample(const Rng& rng, std::size_t n) {
  const Shape shape = random_shape(rng, n);
  const auto order = (rng / "order").permutation(shape.size());
  const std::vector<std::ptrdiff_t> axes(order.begin(), order.end());
  return Sample([axes](const auto& x) { return transpose(x[0], axes); },
                {random_tensor(shape, rng / "x")});
}

// Two overlapping slices of one tensor, so that gradients meet.
Sample slice_sample(const Rng& rng, std::size_t n) {
  const Shape shape = random_shape(rng, n);
  const std::size_t axis = random_axis(rng, shape), extent = shape[axis];
  const std::size_t size = random_size(rng / "size", 1, extent);
  const std::size_t first = random_size(rng / "first", 0, extent - size);
  const std::size_t second = random_size(rng / "second", 0, extent - size);
  return Sample(
      [=](const auto& x) {
        return add(slice(x[0], axis, first, first + size),
                   slice(x[0], axis, second, second + size));
      },
      {random_tensor(shape, rng / "x")});
}

Sample select_sample(const Rng& rng, std::size_t n) {
  const Shape shape = random_shape(rng, n);
  const std::size_t axis = random_axis(rng, shape);
  const std::size_t index = random_size(rng / "index", 0, shape[axis] - 1);
  return Sample([=](const auto& x) { return select(x[0], axis, index); },
                {random_tensor(shape, rng / "x")});
}

// One to three parts, the first of them twice.
Sample concat_sample(const Rng& rng, std::size_t n) {
  Shape shape = random_shape(rng, n);
  const std::size_t axis = random_axis(rng, shape);
  std::vector<Tensor<double>> parts;
  for (std::size_t p = 0; p < random_size(rng / "parts", 1, 3); ++p) {
    parts.push_back(random_tensor(shape, rng / "x" / p));
    shape[axis] = random_size(rng / "extent" / p, 1, 3);
  }
  return Sample(
      [axis](const auto& x) {
        auto joined = x;
        joined.push_back(x[0]);
        return concat(joined, axis);
      },
      parts);
}

// Up to nine indices along any axis, of which some are equal.
Sample take_sample(const Rng& rng, std::size_t n) {
  const Shape shape = random_shape(rng, n);
  const std::size_t axis = random_axis(rng, shape);
  Shape of_indices(random_size(rng / "indices", 0, 2));
  for (std::size_t i = 0; i < of_indices.size(); ++i)
    of_indices[i] = random_size(rng / "i" / i, 1, 3);
  const Ids indices = random_ids(of_indices, rng / "index", std::int32_t(shape[axis]));
  return Sample([=](const auto& x) { return take(x[0], axis, indices); },
                {random_tensor(shape, rng / "x")});
}

OpCase reshape_case() {
  const auto more = [] { reshape(ones({2, 3}), {7}); };
  const auto scalar = [] { reshape(ones({2}), {}); };
  const Sample nothing(
      [](const auto& x) {
        return reshape(x[0], {0, 5});
      },
      {zeros<double>({2, 0})});
  return {.op = "reshape",
          .sample = reshape_sample,
          .wrong_calls = {more, scalar},
          .zero_extents = {nothing}};
}

OpCase transpose_case() {
  const auto too_few = [] { transpose(ones({2, 3}), {0}); };
  const auto twice = [] { transpose(ones({2, 3}), {0, 0}); };
  const auto no_axis = [] { transpose(ones({2, 3}), {0, 2}); };
  return {.op = "transpose", .sample = transpose_sample, .wrong_calls = {too_few, twice, no_axis}};
}

OpCase slice_case() {
  const auto no_axis = [] { slice(ones({2, 3}), 2, 0, 1); };
  const auto beyond = [] { slice(ones({2, 3}), 1, 2, 4); };
  const auto empty = [] { slice(ones({2, 3}), 1, 2, 2); };
  const auto backwards = [] { slice(ones({2, 3}), 1, 2, 1); };
  return {
      .op = "slice", .sample = slice_sample, .wrong_calls = {no_axis, beyond, empty, backwards}};
}

OpCase select_case() {
  const auto no_axis = [] { select(ones({2, 3}), 2, 0); };
  const auto beyond = [] { select(ones({2, 3}), 0, 2); };
  return {.op = "select", .sample = select_sample, .wrong_calls = {no_axis, beyond}};
}

OpCase concat_case() {
  const auto nothing = [] { concat<double>({}, 0); };
  const auto extents = [] { concat<double>({ones({2, 3}), ones({3, 2})}, 0); };
  const auto ranks = [] { concat<double>({ones({2, 3}), ones({2})}, 0); };
  const auto no_axis = [] { concat<double>({ones({2, 3}), ones({2, 3})}, 2); };
  return {
      .op = "concat", .sample = concat_sample, .wrong_calls = {nothing, extents, ranks, no_axis}};
}

OpCase take_case() {
  const auto at = [](std::int32_t index) {
    return [index] { take(ones({2, 3}), 1, full<std::int32_t>({2}, index)); };
  };
  const auto no_axis = [] { take(ones({2, 3}), 2, zeros<std::int32_t>({1})); };
  const Sample nothing(
      [](const auto& x) {
        return take(x[0], 1, zeros<std::int32_t>({0, 2}));
      },
      {full({2, 3}, 1.0)});
  return {.op = "take",
          .sample = take_sample,
          .wrong_calls = {at(3), at(-1), no_axis},
          .zero_extents = {nothing}};
}

}  // namespace

std::vector<OpCase> shape_cases() {
  return {reshape_case(), transpose_case(), slice_case(),
          select_case(),  concat_case(),    take_case()};
}

}  // namespace xgrad::test

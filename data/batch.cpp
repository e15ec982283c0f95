#include <xgrad/data/batch.hpp>

#include <algorithm>
#include <cmath>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/range.hpp>

namespace xgrad {

/// Returns the first index whose value satisfies `bad`, or the size.
template <class Values, class Predicate>
static std::size_t first(const Values& values, Predicate bad) {
  return std::size_t(std::find_if(values.begin(), values.end(), bad) - values.begin());
}

static void check_features(const Example& example, const TaskShape& shape) {
  const std::size_t count = example.features.size();
  const bool image = shape.input == InputKind::image;
  if (image) {
    check<DataError>(count == shape.height * shape.width * shape.channels, "has ", count,
                     " pixel values, expected ", Shape{shape.height, shape.width, shape.channels});
  } else {
    check<DataError>(count > 0, "has no vectors");
    check<DataError>(count % shape.features == 0, "has ", count, " numbers, expected vectors of ",
                     shape.features);
    check<DataError>(count / shape.features <= shape.max_length, "has ", count / shape.features,
                     " vectors, must have at most ", shape.max_length);
  }
  const std::size_t at = first(example.features, [](float x) { return !std::isfinite(x); });
  if (at == count) return;
  if (image) detail::fail<DataError>("pixel value ", at, " is not finite");
  detail::fail<DataError>("number ", at % shape.features, " of vector ", at / shape.features,
                          " is not finite");
}

static void check_input(const Example& example, const TaskShape& shape) {
  if (shape.input != InputKind::tokens) return check_features(example, shape);
  check<DataError>(!example.ids.empty(), "has no tokens");
  check<DataError>(example.ids.size() <= shape.max_length, "has ", example.ids.size(),
                   " tokens, must have at most ", shape.max_length);
  const std::size_t at = first(
      example.ids, [&](std::int32_t id) { return id < 0 || std::size_t(id) >= shape.vocabulary; });
  if (at == example.ids.size()) return;
  detail::fail<DataError>("token ", at, " is ", example.ids[at], ", must be below ",
                          shape.vocabulary);
}

// The number of positions with targets: the tokens, 1 for the sequence, or a generated sequence.
static std::size_t target_places(const Example& example, const TaskShape& shape) {
  if (shape.output == OutputKind::generated) return example.targets.size();
  return shape.output == OutputKind::sequence ? 1 : length_of(example, shape);
}

static void check_edges(const Example& example, const TaskShape& shape) {
  check<DataError>(shape.graph || example.edges.empty(), "has edges, but the task has none");
  const auto length = std::int32_t(length_of(example, shape));
  const auto outside = [=](std::int32_t n) { return n < 0 || n >= length; };
  const std::size_t at =
      first(example.edges, [&](const auto& e) { return outside(e.first) || outside(e.second); });
  if (at == example.edges.size()) return;
  detail::fail<DataError>("edge ", at, " is ", example.edges[at].first, " - ",
                          example.edges[at].second, ", must join two of the ", length, " tokens");
}

static void check_values(const Example& example, const TaskShape& shape) {
  const bool classes = shape.target == TargetKind::classes;
  check<DataError>(classes ? example.values.empty() : example.targets.empty(), "has ",
                   classes ? "numbers" : "classes", " as targets, expected ",
                   classes ? "classes" : "numbers");
  const std::size_t count = example.values.size(),
                    expected = target_places(example, shape) * shape.classes;
  check<DataError>(count == 0 || count == expected, "has ", count, " target numbers, expected ",
                   expected);
  const bool binary = shape.target == TargetKind::binary;
  const std::size_t at = first(example.values, [binary](float x) {
    return std::isinf(x) || (binary && !std::isnan(x) && (x < 0 || x > 1));
  });
  if (at == count) return;
  detail::fail<DataError>("target number ", at, " is ", example.values[at],
                          binary ? ", must be between 0 and 1" : ", must be finite");
}

// Checks a generated target: the end class comes last and nowhere else.
static void check_generated(const Example& example, const TaskShape& shape) {
  const std::size_t count = example.targets.size();
  check<DataError>(count <= shape.max_outputs, "has ", count, " targets, must have at most ",
                   shape.max_outputs);
  const auto end = std::int32_t(shape.classes) - 1;
  const std::size_t at =
      first(example.targets, [end](std::int32_t target) { return target == end; });
  check<DataError>(at + 1 == count, "class ", end,
                   " ends an output: it must be the last target and must not occur before");
}

/// Stacks one list per row, each followed by `padding`.
template <class Field>
static Ids pad(const std::vector<Example>& examples, Field field, std::size_t length,
               std::int32_t padding) {
  Ids result = empty<std::int32_t>({examples.size(), length});
  std::int32_t* row = result.data();
  for (const Example& example : examples) {
    const std::vector<std::int32_t>& list = example.*field;
    std::fill(std::copy(list.begin(), list.end(), row), row + length, padding);
    row += length;
  }
  return result;
}

// The mask; null if all elements are 1.
static std::shared_ptr<const Mask> partial(Mask mask) {
  if (std::all_of(mask.begin(), mask.end(), [](std::uint8_t x) { return x == 1; })) return nullptr;
  return std::make_shared<const Mask>(std::move(mask));
}

static std::shared_ptr<const Mask> padding_mask(const std::vector<std::size_t>& lengths,
                                                std::size_t longest) {
  Mask mask = zeros<std::uint8_t>({lengths.size(), longest});
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    std::fill_n(mask.data() + i * longest, lengths[i], std::uint8_t(1));
  }
  return partial(std::move(mask));
}

// Marks every token as its own neighbour, and both directions of each edge.
static std::shared_ptr<const Mask> adjacency(const std::vector<Example>& examples,
                                             const std::vector<std::size_t>& lengths,
                                             std::size_t longest) {
  auto matrix = std::make_shared<Mask>(zeros<std::uint8_t>({examples.size(), longest, longest}));
  std::uint8_t* own = matrix->data();
  for (std::size_t b = 0; b < examples.size(); ++b, own += longest * longest) {
    for (std::size_t n = 0; n < lengths[b]; ++n) own[n * longest + n] = 1;
    for (const auto& [from, to] : examples[b].edges) {
      own[std::size_t(from) * longest + std::size_t(to)] = 1;
      own[std::size_t(to) * longest + std::size_t(from)] = 1;
    }
  }
  return matrix;
}

// Stacks images or vectors, each followed by zeros.
static Tensor<float> stack_features(const std::vector<Example>& examples, const Shape& shape) {
  Tensor<float> result = zeros<float>(shape);
  float* row = result.data();
  for (const Example& example : examples) {
    std::copy(example.features.begin(), example.features.end(), row);
    row += result.size() / examples.size();
  }
  return result;
}

// Stacks numeric or binary targets.
static void stack_values(const std::vector<Example>& examples, const Shape& shape, Batch& batch) {
  batch.values = zeros<float>(shape);
  Mask valid = zeros<std::uint8_t>(shape);
  std::size_t at = 0;
  for (const Example& example : examples) {
    for (std::size_t i = 0; i < example.values.size(); ++i) {
      if (std::isnan(example.values[i])) continue;
      batch.values.data()[at + i] = example.values[i];
      valid.data()[at + i] = 1;
    }
    at += batch.values.size() / examples.size();
  }
  batch.valid = partial(std::move(valid));
}

// Copies some rows of x, and only the first `length` elements along each of the next `axes` axes.
template <class T>
static Tensor<T> corner(const Tensor<T>& x, const Range& rows, std::size_t axes,
                        std::size_t length) {
  Shape shape = x.shape();
  shape[0] = rows.size();
  std::fill_n(shape.begin() + 1, axes, length);
  Tensor<T> result = empty<T>(shape);
  if (result.size() == 0) return result;
  const std::size_t last = shape.size() - 1, run = last == 0 ? shape[0] : shape[last];
  Shape at(shape.size(), 0);
  T* to = result.data();
  for (const T* const end = to + result.size(); to < end; to += run) {
    std::size_t from = rows.begin + at[0];
    for (std::size_t axis = 1; axis <= last; ++axis) from = from * x.shape()[axis] + at[axis];
    std::copy_n(x.data() + from, run, to);
    for (std::size_t axis = last; axis-- > 0 && ++at[axis] == shape[axis];) at[axis] = 0;
  }
  return result;
}

// The length of the longest row, where a row ends after its last element that satisfies `used`.
template <class T, class Used>
static std::size_t longest(const Tensor<T>& x, const Range& rows, const Used& used) {
  const std::size_t width = x.shape()[1];
  std::size_t most = 0;
  for (std::size_t row = rows.begin; row < rows.end; ++row) {
    std::size_t length = width;
    while (length > most && !used(x.data()[row * width + length - 1])) --length;
    most = std::max(most, length);
  }
  return most;
}

std::size_t length_of(const Example& example, const TaskShape& shape) {
  if (shape.input == InputKind::vectors) return example.features.size() / shape.features;
  return example.ids.size();
}

void check_example(const Example& example, const TaskShape& shape, std::size_t number) try {
  check_input(example, shape);
  check_edges(example, shape);
  const std::size_t count = example.targets.size();
  const bool generated = shape.output == OutputKind::generated;
  const std::size_t expected = target_places(example, shape);
  if (generated && count > 0) check_generated(example, shape);
  check_values(example, shape);
  check<DataError>(count == 0 || count == expected, "has ", count, " targets, expected ", expected);
  const std::size_t at = first(example.targets, [&](std::int32_t target) {
    return (target != kIgnore || generated) && (target < 0 || std::size_t(target) >= shape.classes);
  });
  if (at == count) return;
  detail::fail<DataError>("target ", at, " is ", example.targets[at], ", must be below ",
                          shape.classes);
} catch (const DataError& error) {
  detail::fail<DataError>("example ", number, ": ", error.what());
}

Batch collate(const std::vector<Example>& examples, const TaskShape& shape) {
  check<DataError>(!examples.empty(), "collate: expected at least one example, got none");
  Batch batch;
  batch.size = examples.size();
  std::vector<std::size_t> lengths;
  for (const Example& example : examples) lengths.push_back(length_of(example, shape));
  const std::size_t length = *std::max_element(lengths.begin(), lengths.end());
  if (shape.input == InputKind::image) {
    batch.features =
        stack_features(examples, {batch.size, shape.height, shape.width, shape.channels});
  } else {
    if (shape.input == InputKind::vectors) {
      batch.features = stack_features(examples, {batch.size, length, shape.features});
    } else {
      batch.ids = pad(examples, &Example::ids, length, 0);
    }
    batch.mask = padding_mask(lengths, length);
    if (shape.graph) batch.adjacency = adjacency(examples, lengths, length);
  }
  std::size_t places = 0;
  for (const Example& example : examples) {
    places = std::max(places, target_places(example, shape));
  }
  if (shape.target != TargetKind::classes) {
    Shape values{batch.size, places, shape.classes};
    if (shape.output == OutputKind::sequence) values = {batch.size, shape.classes};
    stack_values(examples, values, batch);
    return batch;
  }
  batch.targets = pad(examples, &Example::targets, places, kIgnore);
  if (shape.output == OutputKind::sequence) batch.targets.reshape({examples.size()});
  return batch;
}

Batch cut(const Batch& batch, const Shard& shard, OutputKind output) {
  const Range rows = share(batch.size, shard.index, shard.count);
  Batch part;
  part.size = rows.size();
  const bool tokens = batch.ids.dimension() == 2, vectors = batch.features.dimension() == 3;
  // Tokens or vectors of the longest example; 0 for images.
  std::size_t after = tokens ? batch.ids.shape()[1] : vectors ? batch.features.shape()[1] : 0;
  if (batch.mask) after = longest(*batch.mask, rows, [](std::uint8_t x) { return x == 1; });
  const auto of = [&](const auto& x, std::size_t axes) { return corner(x, rows, axes, after); };

  if (tokens) part.ids = of(batch.ids, 1);
  if (batch.features.dimension() > 1) part.features = of(batch.features, vectors ? 1 : 0);
  if (batch.mask) part.mask = partial(of(*batch.mask, 1));
  if (batch.adjacency) part.adjacency = std::make_shared<const Mask>(of(*batch.adjacency, 2));
  const std::size_t token_axes = output == OutputKind::tokens ? 1 : 0;
  if (batch.values.dimension() > 1) {
    part.values = of(batch.values, token_axes);
    if (batch.valid) part.valid = partial(of(*batch.valid, token_axes));
    return part;
  }
  // Generated targets have a length of their own.
  if (output == OutputKind::generated) {
    after = longest(batch.targets, rows, [](std::int32_t target) { return target != kIgnore; });
  }
  part.targets = of(batch.targets, batch.targets.dimension() - 1);
  return part;
}

std::size_t batches_with(const std::vector<Batch>& batches, const Shard& shard) {
  return std::size_t(std::count_if(batches.begin(), batches.end(), [&](const Batch& batch) {
    return share(batch.size, shard.index, shard.count).size() > 0;
  }));
}

}  // namespace xgrad

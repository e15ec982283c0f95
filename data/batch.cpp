#include <xgrad/data/batch.hpp>

#include <algorithm>
#include <cmath>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

/// Returns the first index whose value satisfies `bad`, or the size.
template <class Values, class Predicate>
std::size_t first(const Values& values, Predicate bad) {
  return std::size_t(std::find_if(values.begin(), values.end(), bad) - values.begin());
}

void check_vectors(const Example& example, const TaskShape& shape) {
  const std::size_t count = example.features.size(), length = count / shape.features;
  check<DataError>(count > 0, "has no vectors");
  check<DataError>(count % shape.features == 0, "has ", count, " numbers, expected vectors of ",
                   shape.features);
  check<DataError>(length <= shape.max_length, "has ", length, " vectors, must have at most ",
                   shape.max_length);
  const std::size_t at = first(example.features, [](float x) { return !std::isfinite(x); });
  check<DataError>(at == count, "number ", at % shape.features, " of vector ", at / shape.features,
                   " is not finite");
}

void check_input(const Example& example, const TaskShape& shape) {
  if (shape.input == InputKind::vectors) return check_vectors(example, shape);
  if (shape.input == InputKind::image) {
    const std::size_t pixels = shape.height * shape.width * shape.channels;
    check<DataError>(example.features.size() == pixels, "has ", example.features.size(),
                     " pixel values, expected ", Shape{shape.height, shape.width, shape.channels});
    const std::size_t at = first(example.features, [](float x) { return !std::isfinite(x); });
    check<DataError>(at == pixels, "pixel value ", at, " is not finite");
    return;
  }
  check<DataError>(!example.ids.empty(), "has no tokens");
  check<DataError>(example.ids.size() <= shape.max_length, "has ", example.ids.size(),
                   " tokens, must have at most ", shape.max_length);
  const std::size_t at = first(
      example.ids, [&](std::int32_t id) { return id < 0 || std::size_t(id) >= shape.vocabulary; });
  if (at == example.ids.size()) return;
  detail::fail<DataError>("token ", at, " is ", example.ids[at], ", must be below ",
                          shape.vocabulary);
}

void check_edges(const Example& example, const TaskShape& shape) {
  check<DataError>(shape.graph || example.edges.empty(), "has edges, but the task has none");
  const auto length = std::int32_t(length_of(example, shape));
  const auto outside = [=](std::int32_t n) { return n < 0 || n >= length; };
  const std::size_t at =
      first(example.edges, [&](const auto& e) { return outside(e.first) || outside(e.second); });
  if (at == example.edges.size()) return;
  detail::fail<DataError>("edge ", at, " is ", example.edges[at].first, " - ",
                          example.edges[at].second, ", must join two of the ", length, " tokens");
}

// `places` is the number of positions with targets: the tokens, or 1 for the sequence.
void check_values(const Example& example, const TaskShape& shape, std::size_t places) {
  const bool classes = shape.target == TargetKind::classes;
  check<DataError>(classes ? example.values.empty() : example.targets.empty(), "has ",
                   classes ? "numbers" : "classes", " as targets, expected ",
                   classes ? "classes" : "numbers");
  const std::size_t count = example.values.size(), expected = places * shape.classes;
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
void check_generated(const Example& example, const TaskShape& shape) {
  const std::size_t count = example.targets.size();
  check<DataError>(count <= shape.max_outputs, "has ", count, " targets, must have at most ",
                   shape.max_outputs);
  const auto end = std::int32_t(shape.classes) - 1;
  const std::size_t at =
      first(example.targets, [end](std::int32_t target) { return target == end; });
  check<DataError>(at + 1 == count, "class ", end,
                   " ends an output: it must be the last target, and only that");
}

/// Stacks one list per row, each followed by `padding`.
template <class Field>
Ids pad(const std::vector<Example>& examples, Field field, std::size_t length,
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

using Lengths = std::vector<std::size_t>;  // length of each example

std::shared_ptr<const Mask> padding_mask(const Lengths& lengths, std::size_t longest) {
  const auto full = [&](std::size_t length) { return length == longest; };
  if (std::all_of(lengths.begin(), lengths.end(), full)) return nullptr;
  auto mask = std::make_shared<Mask>(empty<std::uint8_t>({lengths.size(), longest}));
  std::uint8_t* row = mask->data();
  for (const std::size_t length : lengths) {
    std::fill_n(row, length, std::uint8_t(1));
    std::fill(row + length, row + longest, std::uint8_t(0));
    row += longest;
  }
  return mask;
}

// Marks every token as its own neighbour, and both directions of each edge.
std::shared_ptr<const Mask> adjacency(const std::vector<Example>& examples, const Lengths& lengths,
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
Tensor<float> stack_features(const std::vector<Example>& examples, const Shape& shape) {
  Tensor<float> result = zeros<float>(shape);
  float* row = result.data();
  for (const Example& example : examples) {
    std::copy(example.features.begin(), example.features.end(), row);
    row += result.size() / examples.size();
  }
  return result;
}

// Stacks numeric or binary targets, `count` positions for each example.
void stack_values(const std::vector<Example>& examples, const Shape& shape, std::size_t count,
                  Batch& batch) {
  batch.values = zeros<float>(shape);
  auto valid = std::make_shared<Mask>(zeros<std::uint8_t>(shape));
  std::size_t at = 0, counted = 0;
  for (const Example& example : examples) {
    for (std::size_t i = 0; i < example.values.size(); ++i) {
      if (std::isnan(example.values[i])) continue;
      batch.values.data()[at + i] = example.values[i];
      valid->data()[at + i] = 1;
      ++counted;
    }
    at += count;
  }
  if (counted < batch.values.size()) batch.valid = std::move(valid);
}

}  // namespace

std::size_t length_of(const Example& example, const TaskShape& shape) {
  if (shape.input == InputKind::vectors) return example.features.size() / shape.features;
  return example.ids.size();
}

void check_example(const Example& example, const TaskShape& shape, std::size_t number) try {
  check_input(example, shape);
  check_edges(example, shape);
  const std::size_t count = example.targets.size();
  const bool generated = shape.output == OutputKind::generated;
  const std::size_t expected = generated                              ? count
                               : shape.output == OutputKind::sequence ? 1
                                                                      : length_of(example, shape);
  if (generated && count > 0) check_generated(example, shape);
  check_values(example, shape, expected);
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
  Lengths lengths;
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
  const bool per_token = shape.output == OutputKind::tokens;
  if (shape.target != TargetKind::classes) {
    Shape places{batch.size, length, shape.classes};
    if (!per_token) places = {batch.size, shape.classes};
    stack_values(examples, places, (per_token ? length : 1) * shape.classes, batch);
    return batch;
  }
  std::size_t longest = per_token ? length : 1;
  if (shape.output == OutputKind::generated) {
    longest = 0;
    for (const Example& example : examples) longest = std::max(longest, example.targets.size());
  }
  batch.targets = pad(examples, &Example::targets, longest, kIgnore);
  if (shape.output == OutputKind::sequence) batch.targets.reshape({examples.size()});
  return batch;
}

}  // namespace xgrad

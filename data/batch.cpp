#include <xgrad/data/batch.hpp>

#include <algorithm>
#include <cmath>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

/// The first index at which `bad` holds, or the size.
template <class Values, class Predicate>
std::size_t first(const Values& values, Predicate bad) {
  return std::size_t(std::find_if(values.begin(), values.end(), bad) - values.begin());
}

void check_input(const Example& example, const TaskShape& shape, std::size_t number) {
  const auto fail_if = [&](bool wrong, const auto&... parts) {
    check<DataError>(!wrong, "example ", number, ": ", parts...);
  };
  if (shape.input == InputKind::image) {
    const std::size_t pixels = shape.height * shape.width * shape.channels;
    fail_if(example.features.size() != pixels, "has ", example.features.size(),
            " pixel values, expected ", Shape{shape.height, shape.width, shape.channels});
    const std::size_t at = first(example.features, [](float x) { return !std::isfinite(x); });
    fail_if(at != pixels, "pixel value ", at, " is not finite");
    return;
  }
  fail_if(example.ids.empty(), "has no tokens");
  fail_if(example.ids.size() > shape.max_length, "has ", example.ids.size(),
          " tokens, the longest may have ", shape.max_length);
  const std::size_t at = first(
      example.ids, [&](std::int32_t id) { return id < 0 || std::size_t(id) >= shape.vocabulary; });
  if (at < example.ids.size()) {
    fail_if(true, "token ", at, " is ", example.ids[at], ", must be below ", shape.vocabulary);
  }
}

/// Copies one list a row, and `padding` behind it.
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

std::shared_ptr<const Mask> padding_mask(const std::vector<Example>& examples, std::size_t length) {
  const auto full = [&](const Example& example) { return example.ids.size() == length; };
  if (std::all_of(examples.begin(), examples.end(), full)) return nullptr;
  auto mask = std::make_shared<Mask>(empty<std::uint8_t>({examples.size(), length}));
  std::uint8_t* row = mask->data();
  for (const Example& example : examples) {
    std::fill_n(row, example.ids.size(), std::uint8_t(1));
    std::fill(row + example.ids.size(), row + length, std::uint8_t(0));
    row += length;
  }
  return mask;
}

Tensor<float> stack_images(const std::vector<Example>& examples, const TaskShape& shape) {
  Tensor<float> result = empty<float>({examples.size(), shape.height, shape.width, shape.channels});
  float* image = result.data();
  for (const Example& example : examples) {
    image = std::copy(example.features.begin(), example.features.end(), image);
  }
  return result;
}

}  // namespace

void check_example(const Example& example, const TaskShape& shape, std::size_t number) {
  check_input(example, shape, number);
  const std::size_t expected = shape.output == OutputKind::sequence ? 1 : example.ids.size();
  const std::size_t count = example.targets.size();
  check<DataError>(count == 0 || count == expected, "example ", number, ": has ", count,
                   " targets, expected ", expected);
  const std::size_t at = first(example.targets, [&](std::int32_t target) {
    return target != kIgnore && (target < 0 || std::size_t(target) >= shape.classes);
  });
  if (at < count) {
    detail::fail<DataError>("example ", number, ": target ", at, " is ", example.targets[at],
                            ", must be below ", shape.classes);
  }
}

Batch collate(const std::vector<Example>& examples, const TaskShape& shape) {
  check<DataError>(!examples.empty(), "collate: there are no examples");
  Batch batch;
  batch.size = examples.size();
  std::size_t length = 0;
  for (const Example& example : examples) length = std::max(length, example.ids.size());
  if (shape.input == InputKind::image) {
    batch.features = stack_images(examples, shape);
  } else {
    batch.ids = pad(examples, &Example::ids, length, 0);
    batch.mask = padding_mask(examples, length);
  }
  const bool per_token = shape.output == OutputKind::tokens;
  batch.targets = pad(examples, &Example::targets, per_token ? length : 1, kIgnore);
  if (!per_token) batch.targets.reshape({examples.size()});
  return batch;
}

}  // namespace xgrad

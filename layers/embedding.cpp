#include <xgrad/layers/embedding.hpp>

#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/layers/init.hpp>

namespace xgrad {

namespace {

PositionOptions position_options(const InputOptions& options) {
  PositionOptions positions{options.positions, options.max_length, options.features};
  if (options.vocabulary == 0 && options.vector == 0) {
    positions.rows = options.height / options.patch;
    positions.columns = options.width / options.patch;
    positions.max_length = positions.rows * positions.columns;
  }
  positions.max_length += options.class_token ? 1 : 0;
  positions.class_token = options.class_token;
  return positions;
}

// The name and input width of the Linear; the width is 0 when token ids use an Embedding.
std::pair<const char*, std::size_t> linear_input(const InputOptions& options) {
  if (options.vocabulary > 0) return {"one_hot", options.one_hot ? options.vocabulary : 0};
  if (options.vector > 0) return {"vector", options.vector};
  const std::size_t side = options.patch + 2 * options.overlap;
  return {"patch", side * side * options.channels};
}

void check_patch(std::size_t patch, std::size_t height, std::size_t width) {
  check_shape(patch > 0 && height % patch == 0 && width % patch == 0, "patchify: patch (", patch,
              ") does not divide the image's ", height, " x ", width, " pixels");
}

}  // namespace

template <class T>
Tensor<T> patchify(const Tensor<T>& x, std::size_t patch, std::size_t overlap) {
  check_shape(x.dimension() == 4, "patchify: expected (B, H, W, C), got ", x.shape());
  const std::size_t height = x.shape()[1], width = x.shape()[2], channels = x.shape()[3];
  check_patch(patch, height, width);
  const std::size_t side = patch + 2 * overlap;
  Tensor<T> y =
      empty<T>({x.shape()[0], (height / patch) * (width / patch), side * side * channels});
  T* to = y.data();
  // Rows and columns count from `overlap` pixels outside the image.
  const auto copy = [&](std::size_t b, std::size_t row, std::size_t left) {
    T* const end = to + side * channels;
    if (row >= overlap && row < height + overlap) {
      const std::size_t first = std::max(left, overlap);
      const std::size_t last = std::min(left + side, width + overlap);
      const std::size_t from = (b * height + row - overlap) * width + first - overlap;
      to = std::fill_n(to, (first - left) * channels, T(0));
      to = std::copy_n(x.data() + from * channels, (last - first) * channels, to);
    }
    std::fill(to, end, T(0));
    to = end;
  };
  for (std::size_t b = 0; b < x.shape()[0]; ++b) {
    for (std::size_t top = 0; top < height; top += patch) {
      for (std::size_t left = 0; left < width; left += patch) {
        for (std::size_t row = top; row < top + side; ++row) copy(b, row, left);
      }
    }
  }
  return y;
}

template <class T>
Tensor<T> unpatchify(const Tensor<T>& x, std::size_t patch, std::size_t height, std::size_t width) {
  check_patch(patch, height, width);
  check_shape(x.dimension() == 3 && x.shape()[1] == (height / patch) * (width / patch) &&
                  x.shape()[2] % (patch * patch) == 0,
              "unpatchify: expected the patches of ", height, " x ", width, " pixels, got ",
              x.shape());
  const std::size_t channels = x.shape()[2] / (patch * patch);
  Tensor<T> patches = x;
  patches.reshape({x.shape()[0], height / patch, width / patch, patch, patch, channels});
  Tensor<T> y = xt::transpose(patches, {0, 1, 3, 2, 4, 5});
  y.reshape({x.shape()[0], height, width, channels});
  return y;
}

template <class T>
Tensor<T> one_hot(const Ids& ids, std::size_t vocabulary) {
  Shape shape = ids.shape();
  shape.push_back(vocabulary);
  Tensor<T> y = zeros<T>(shape);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::int32_t id = ids.data()[i];
    check_shape(id >= 0 && std::size_t(id) < vocabulary, "one_hot: id ", id,
                ": expected an id in [0, ", vocabulary, ")");
    y.data()[i * vocabulary + std::size_t(id)] = T(1);
  }
  return y;
}

template <class T>
InputEmbedding<T>::InputEmbedding(const Scope<T>& scope, const InputOptions& options)
    : options_(options), positions_(scope / "position", position_options(options)) {
  if (const auto [name, size] = linear_input(options); size > 0) {
    linear_.emplace(scope / name, size, options.features);
  } else {
    token_.emplace(scope / "token", options.vocabulary, options.features);
  }
  if (options.class_token) {
    class_token_ =
        scope.parameter("class_token", {options.features}, init::normal(0.02), WeightDecay::off);
  }
  if (options.norm) norm_.emplace(scope / "norm", options.features, *options.norm);
}

template <class T>
Variable<T> InputEmbedding<T>::embed(const ModelInput<T>& input) const {
  if (options_.vocabulary > 0) {
    check_shape(input.ids != nullptr, "model: expected token ids as input");
    if (token_) return (*token_)(*input.ids);
    return (*linear_)(Variable<T>(one_hot<T>(*input.ids, options_.vocabulary)));
  }
  const bool image = options_.vector == 0;
  check_shape(input.features != nullptr, "model: expected ", image ? "an image" : "vectors",
              " as input");
  return (*linear_)(Variable<T>(image ? patchify(*input.features, options_.patch, options_.overlap)
                                      : *input.features));
}

template <class T>
Variable<T> InputEmbedding<T>::operator()(const ModelInput<T>& input, std::size_t first) const {
  Variable<T> x = embed(input);
  if (class_token_.defined()) {
    const Variable<T> row(zeros<T>({x.shape()[0], 1, options_.features}));
    x = concat<T>({add(row, class_token_), x}, 1);
  }
  const SharedMask present = mask(input.mask);
  x = positions_(x, present, first);
  return norm_ ? (*norm_)(x, present) : x;
}

template <class T>
SharedMask InputEmbedding<T>::mask(const SharedMask& mask) const {
  if (!mask || !class_token_.defined()) return mask;
  const std::size_t batch = mask->shape()[0], tokens = mask->shape()[1];
  auto longer = std::make_shared<Mask>(full<std::uint8_t>({batch, tokens + 1}, 1));
  xt::view(*longer, xt::all(), xt::range(1, tokens + 1)) = *mask;
  return longer;
}

template <class T>
SharedMask InputEmbedding<T>::adjacency(const SharedMask& adjacency) const {
  check_shape(adjacency != nullptr, "model: expected a graph as input");
  if (!class_token_.defined()) return adjacency;
  const std::size_t batch = adjacency->shape()[0], tokens = adjacency->shape()[1];
  auto larger = std::make_shared<Mask>(full<std::uint8_t>({batch, tokens + 1, tokens + 1}, 0));
  xt::view(*larger, xt::all(), 0) = 1;
  xt::view(*larger, xt::all(), xt::range(1, tokens + 1), xt::range(1, tokens + 1)) = *adjacency;
  return larger;
}

#define XGRAD_INSTANTIATE(T)                      \
  template decltype(one_hot<T>) one_hot<T>;       \
  template decltype(patchify<T>) patchify<T>;     \
  template decltype(unpatchify<T>) unpatchify<T>; \
  template class InputEmbedding<T>;
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

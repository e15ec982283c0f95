#include <xgrad/data/shard.hpp>

#include <algorithm>

namespace xgrad {

namespace {

// The rows of x, and of each further axis as many of the first elements as `shape` has.
template <class T>
Tensor<T> corner(const Tensor<T>& x, const Range& rows, Shape shape) {
  shape[0] = rows.size();
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

// A mask of which some elements are 0; null where all are 1.
std::shared_ptr<const Mask> partial(Mask mask) {
  if (std::all_of(mask.begin(), mask.end(), [](std::uint8_t x) { return x == 1; })) return nullptr;
  return std::make_shared<const Mask>(std::move(mask));
}

// One more than the last place of a row that satisfies `used`, for the row with most.
template <class T, class Used>
std::size_t longest(const Tensor<T>& x, const Range& rows, const Used& used) {
  const std::size_t width = x.shape()[1];
  std::size_t most = 0;
  for (std::size_t row = rows.begin; row < rows.end; ++row) {
    std::size_t length = width;
    while (length > most && !used(x.data()[row * width + length - 1])) --length;
    most = std::max(most, length);
  }
  return most;
}

}  // namespace

Batch cut(const Batch& batch, const Shard& shard, OutputKind output) {
  const Range rows = share(batch.size, shard.index, shard.count);
  Batch part;
  part.size = rows.size();
  // Tokens or vectors of the longest example before and after; 0 for images.
  std::size_t before = 0;
  if (batch.ids.dimension() == 2) before = batch.ids.shape()[1];
  if (batch.features.dimension() == 3) before = batch.features.shape()[1];
  std::size_t after = before;
  if (batch.mask) after = longest(*batch.mask, rows, [](std::uint8_t x) { return x == 1; });
  const auto of = [&](const auto& x, std::size_t axes) {
    Shape shape = x.shape();
    for (std::size_t axis = 1; axis <= axes; ++axis) shape[axis] = after;
    return corner(x, rows, std::move(shape));
  };

  if (batch.ids.dimension() == 2) part.ids = of(batch.ids, 1);
  if (batch.features.dimension() > 1) part.features = of(batch.features, before > 0 ? 1 : 0);
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

#include "support/tensors.hpp"

namespace xgrad::test {

Ids random_ids(const Shape& shape, const Rng& rng, std::int32_t bound) {
  Ids ids = empty<std::int32_t>(shape);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ids.data()[i] = std::int32_t(rng.below(std::uint64_t(bound), i));
  }
  return ids;
}

Mask random_mask(const Shape& shape, const Rng& rng, double keep) {
  Mask mask = empty<std::uint8_t>(shape);
  for (std::size_t i = 0; i < mask.size(); ++i) mask.data()[i] = rng.uniform(i) < keep;
  return mask;
}

std::size_t random_size(const Rng& rng, std::size_t low, std::size_t high) {
  return low + std::size_t(rng.below(high - low + 1, 0));
}

}  // namespace xgrad::test

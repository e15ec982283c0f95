#include "autograd/op_table.hpp"

namespace xgrad::test {

std::vector<OpCase> embedding_cases() {
  using V = Variable<double>;
  return {{.op = "embedding",
           .sample =
               [](const Rng& rng, std::size_t n) {
                 const std::size_t vocabulary = random_size(rng / "V", 1, 4);  // so few: ids repeat
                 const Shape shape{random_size(rng / "B", 1, 3), random_size(rng / "N", 1, 3)};
                 const Ids ids = random_ids(shape, rng / "ids", std::int32_t(vocabulary));
                 return Sample([ids](const auto& x) { return embedding(x[0], ids); },
                               {random_tensor({vocabulary, n}, rng / "weight")});
               },
           .wrong_calls = {[] { embedding(V(full({3}, 1.0)), full<std::int32_t>({2}, 0)); },
                           [] {
                             embedding(V(full({3, 2}, 1.0)), full<std::int32_t>({2}, 3));
                           },
                           [] {
                             embedding(V(full({3, 2}, 1.0)), full<std::int32_t>({2}, -1));
                           }},
           .zero_extents = {Sample(
               [](const auto& x) {
                 return embedding(x[0], zeros<std::int32_t>({2, 0}));
               },
               {full({3, 2}, 1.0)})}}};
}

}  // namespace xgrad::test

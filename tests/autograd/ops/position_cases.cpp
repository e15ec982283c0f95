#include "autograd/op_table.hpp"

namespace xgrad::test {

std::vector<OpCase> position_cases() {
  return {{.op = "rotary_embedding",
           .sample =
               [](const Rng& rng, std::size_t n) {
                 const std::size_t head_dim = 2 * n, heads = random_size(rng / "heads", 1, 3);
                 const std::size_t rest = random_size(rng / "rest", 0, 3);
                 const double base = 2 + 100 * rng.uniform(0);
                 return Sample(
                     [=](const auto& x) { return rotary_embedding(x[0], head_dim, heads, base); },
                     {random_tensor({random_size(rng / "B", 1, 3), random_size(rng / "N", 1, 3),
                                     heads * head_dim + rest},
                                    rng / "x")});
               },
           .wrong_calls = {[] {
                             rotary_embedding(ones({2, 4}), 2, 1);
                           },
                           [] {
                             rotary_embedding(ones({1, 2, 4}), 3, 1);
                           },
                           [] {
                             rotary_embedding(ones({1, 2, 4}), 0, 1);
                           },
                           [] {
                             rotary_embedding(ones({1, 2, 4}), 2, 3);
                           },
                           [] {
                             rotary_embedding(ones({1, 2, 4}), 2, 1, 0);
                           }}}};
}

}  // namespace xgrad::test

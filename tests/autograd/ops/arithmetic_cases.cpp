#include "autograd/op_table.hpp"

namespace xgrad::test {

std::vector<OpCase> arithmetic_cases() {
  return {
      {.op = "scale",
       .sample =
           [](const Rng& rng, std::size_t n) {
             const double c = 3 * rng.uniform(0) - 1.5;
             const Shape shape{random_size(rng / "rows", 1, 3), n};
             return Sample([c](const auto& x) { return scale(x[0], c); },
                           {random_tensor(shape, rng / "x", -2, 2)});
           }},
  };
}

}  // namespace xgrad::test

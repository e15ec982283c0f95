#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/synthetic.hpp>

namespace xgrad {

static Synthetic describe(const Options& options) {
  const auto p = std::int32_t(get_int(options, "modulus"));
  Synthetic task;
  task.shape.output = OutputKind::sequence;
  task.shape.classes = std::size_t(p);
  task.shape.max_length = 3;
  task.shape.token_names = numbered(std::size_t(p));
  task.shape.token_names.push_back("=");
  for (std::int32_t a = 0; a < p; ++a) {
    for (std::int32_t b = 0; b < p; ++b) task.inputs.push_back({a, b, p});
  }
  task.solve = [p](const Tokens& ids) {
    const bool is_pair = ids.size() == 3 && ids[0] < p && ids[1] < p && ids[2] == p;
    check<DataError>(is_pair, "expected two numbers and =");
    return Tokens{(ids[0] + ids[1]) % p};
  };
  return task;
}

// Known for grokking: trained on a third of all pairs with weight decay, the accuracy on the other
// pairs jumps long after that on the training pairs (Power et al. 2022; Nanda et al. 2023).
TaskEntry modular_addition_task() {
  return listed_task(
      {.name = "modular_addition",
       .summary = "Add two numbers modulo a third.",
       .options = {{"modulus", 97, "The modulus, prime or not; all numbers are below it.", 32,
                    512}},
       .needs = "Positions, one layer and weight decay; fewer examples need more steps.",
       .theory = "solvable: one layer learns it by trigonometric identities, long after it knows "
                 "the training pairs by heart (Nanda et al. 2023, arXiv:2301.05217)",
       .source = "Power et al. 2022, arXiv:2201.02177"},
      describe);
}

}  // namespace xgrad

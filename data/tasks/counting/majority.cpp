#include <algorithm>

#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

// A tie means "no".
static Tokens solve(const Tokens& ids) {
  return {2 * std::count(ids.begin(), ids.end(), 1) > std::ptrdiff_t(ids.size())};
}

TaskEntry majority_task() {
  const auto describe = [](const Options& options) { return uniform_bits(options, solve); };
  return synthetic_task(
      {.name = "majority",
       .summary = "Say whether there are more 1s than 0s.",
       .options = length_options(),
       .needs = "No positions, and one layer with one head that attends to all tokens equally.",
       .theory = "solvable: one head that attends to all tokens equally (Merrill, Sabharwal and "
                 "Smith 2022, arXiv:2106.16213)",
       .source = "Merrill, Sabharwal and Smith 2022, arXiv:2106.16213"},
      describe);
}

}  // namespace xgrad

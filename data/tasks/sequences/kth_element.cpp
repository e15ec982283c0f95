#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

static Synthetic describe(const Options& options) {
  const std::size_t k = get_size(options, "k"), shortest = Lengths(options).shortest;
  check<ConfigError>(k <= shortest, "k is ", k, ", must be at most ", shortest,
                     ", the shortest length");
  return one_target(uniform_tokens(options, [k](const Tokens& ids) {
    check<DataError>(k <= ids.size(), "expected at least ", k, " tokens");
    return Tokens{ids[k - 1]};
  }));
}

TaskEntry kth_element_task() {
  return synthetic_task(
      {.name = "kth_element",
       .summary = "Output the k-th token of the sequence.",
       .options = length_options(
           16, {symbols_option(), {"k", 5, "The place to read, counted from 1.", 1, 65536}}),
       .needs = "Positions and one layer with one head.",
       .theory = "needs positions: one head that attends to place k suffices, as for the first "
                 "place (Chiang and Cholak 2022, arXiv:2202.12172)",
       .source = "after FIRST of Chiang and Cholak 2022, arXiv:2202.12172"},
      describe);
}

}  // namespace xgrad

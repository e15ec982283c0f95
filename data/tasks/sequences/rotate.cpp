#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

// Output i is input (i + shift) mod N, where N is the length of the sequence.
static Tokens solve(const Tokens& ids, std::size_t shift) {
  Tokens turned;
  for (std::size_t i = 0; i < ids.size(); ++i) turned.push_back(ids[(i + shift) % ids.size()]);
  return turned;
}

TaskEntry rotate_task() {
  const auto describe = [](const Options& options) {
    const std::size_t shift = get_size(options, "shift");
    return uniform_tokens(options, [shift](const Tokens& ids) { return solve(ids, shift); });
  };
  return synthetic_task(
      {.name = "rotate",
       .summary = "Move the tokens towards the front; the first ones wrap around to the end.",
       .options = length_options(
           16, {symbols_option(),
                {"shift", 1, "Places by which each token moves towards the front.", 0, 65536}}),
       .needs = "Positions and one layer with one head.",
       .theory = "needs positions: one head attends to another place (Weiss et al. 2021)",
       .source = "after the select by indices of Weiss, Goldberg and Yahav 2021, arXiv:2106.06981"},
      describe);
}

}  // namespace xgrad

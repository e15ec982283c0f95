#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

static Tokens solve(const Tokens& ids) {
  const auto at = std::find(ids.begin(), ids.end() - 1, ids.back());
  const bool is_good = ids.end() - at > 2 && std::count(at, ids.end(), ids.back()) == 2;
  check<DataError>(is_good,
                   "the last token must occur exactly once before, and not right before itself");
  return {at[1]};
}

static Example draw(const Rng& rng, std::size_t length, std::uint32_t symbols) {
  const auto query = std::int32_t((rng / "query").below(symbols, 0));
  Example example{.ids = random_tokens(rng, length, symbols - 1)};
  for (std::int32_t& id : example.ids) id += id >= query;  // any token except the query
  example.ids[(rng / "place").below(length - 2, 0)] = query;
  example.ids.back() = query;
  return example;
}

// The function of induction heads (Olsson et al. 2022).
TaskEntry induction_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = one_target(uniform_tokens(options, solve));
    draw_lengths(task, Lengths(options, 3),
                 [symbols = std::uint32_t(task.shape.vocabulary)](
                     const Rng& rng, std::size_t length) { return draw(rng, length, symbols); });
    return task;
  };
  return synthetic_task(
      {.name = "induction",
       .summary = "Find the earlier occurrence of the last token; output the token after it.",
       .options = length_options(16, {symbols_option(10, 3)}),
       .needs =
           "Positions and two layers: the first looks one token back, the second finds the match.",
       .theory =
           "needs positions and depth: two layers suffice (Olsson et al. 2022); one layer would "
           "have to be exponentially larger (Sanford, Hsu and Telgarsky 2024, arXiv:2408.14332)",
       .source = "Olsson et al. 2022, arXiv:2209.11895"},
      describe);
}

}  // namespace xgrad

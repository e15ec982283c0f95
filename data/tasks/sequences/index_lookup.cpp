#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

// Ids below `symbols` are symbols; the others point to a place.
static Tokens solve(const Tokens& ids, std::int32_t symbols) {
  for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
    check<DataError>(ids[i] < symbols, "token ", i + 1, " is an index, which must come last");
  }
  const std::int32_t place = ids.back() - symbols;
  check<DataError>(place >= 0 && std::size_t(place) + 1 < ids.size(),
                   "the last token must be an index from @1 to @", ids.size() - 1);
  return {ids[std::size_t(place)]};
}

static Synthetic describe(const Options& options) {
  const auto symbols = std::int32_t(get_int(options, "symbols"));
  Synthetic task = one_target(
      uniform_tokens(options, [symbols](const Tokens& ids) { return solve(ids, symbols); }));
  task.shape.token_names = numbered(task.shape.classes);
  for (std::size_t i = 1; i < task.shape.max_length; ++i) {
    task.shape.token_names.push_back("@" + std::to_string(i));
  }
  task.shape.vocabulary = task.shape.token_names.size();
  draw_lengths(task, Lengths(options, 2), [symbols](const Rng& rng, std::size_t length) {
    Example example{.ids = random_tokens(rng, length - 1, std::uint32_t(symbols))};
    example.ids.push_back(symbols + std::int32_t((rng / "index").below(length - 1, 0)));
    return example;
  });
  return task;
}

// An easy task for attention, and one that needs a recurrent network whose state is as long as the
// sequence (Bhattamishra et al. 2024).
TaskEntry index_lookup_task() {
  return synthetic_task(
      {.name = "index_lookup",
       .summary = "Output the token at the place that the last token names.",
       .options = length_options(16, {symbols_option(10, 1, 65536)}),  // every token has a name
       .needs = "Positions and one layer with one head.",
       .theory = "needs positions: one layer suffices with a width that grows with the logarithm "
                 "of the length (Bhattamishra et al. 2024)",
       .source = "Bhattamishra et al. 2024, arXiv:2406.09347"},
      describe);
}

}  // namespace xgrad

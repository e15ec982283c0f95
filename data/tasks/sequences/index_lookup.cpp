#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

namespace {

// Ids below `symbols` are symbols; the others point to a place.
Tokens solve(const Tokens& ids, std::int32_t symbols) {
  for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
    check<DataError>(ids[i] < symbols, "token ", i + 1, " is an index, which must come last");
  }
  const std::int32_t place = ids.back() - symbols;
  check<DataError>(place >= 0 && std::size_t(place) + 1 < ids.size(),
                   "the last token must be an index from @1 to @", ids.size() - 1);
  return {ids[std::size_t(place)]};
}

Synthetic describe(const Options& options) {
  Synthetic task = uniform_tokens(options);
  const Lengths lengths(options, 2);
  const auto symbols = std::int32_t(task.shape.classes);
  for (std::int32_t i = 0; i < symbols; ++i) task.shape.token_names.push_back(std::to_string(i));
  for (std::size_t i = 1; i < lengths.longest; ++i) {
    task.shape.token_names.push_back("@" + std::to_string(i));
  }
  task.shape.output = OutputKind::sequence;
  task.shape.vocabulary = task.shape.token_names.size();
  task.draw = [lengths, symbols](const Rng& rng) {
    const std::size_t places = lengths.draw(rng) - 1;
    Example example;
    example.ids = random_tokens(rng, places, std::uint32_t(symbols));
    example.ids.push_back(symbols + std::int32_t((rng / "index").below(places, 0)));
    return example;
  };
  task.solve = [symbols](const Tokens& ids) { return solve(ids, symbols); };
  return task;
}

}  // namespace

// An easy task for attention, and one that needs a recurrent network whose state is as long as the
// sequence (Bhattamishra et al. 2024).
TaskEntry index_lookup_task() {
  auto options = uniform_options();
  options.back().max = 65536;  // every token has a name
  return synthetic_task("index_lookup", "Output the token at the place that the last token names.",
                        "Positions and one layer with one head.", options, describe);
}

}  // namespace xgrad

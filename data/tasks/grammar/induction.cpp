#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

namespace {

Synthetic describe(const Options& options) {
  Synthetic task = uniform_tokens(options);
  const Lengths lengths(options, 3);
  task.shape.output = OutputKind::sequence;
  task.draw = [lengths, symbols = std::uint32_t(task.shape.vocabulary)](const Rng& rng) {
    const std::size_t length = lengths.draw(rng);
    const auto query = std::int32_t((rng / "query").below(symbols, 0));
    Example example;
    example.ids = random_tokens(rng, length, symbols - 1);
    for (std::int32_t& id : example.ids) id += id >= query;  // any token except the query
    example.ids[(rng / "place").below(length - 2, 0)] = query;
    example.ids.back() = query;
    return example;
  };
  task.solve = [](const Tokens& ids) {
    const auto at = std::find(ids.begin(), ids.end() - 1, ids.back());
    const bool is_good = ids.end() - at > 2 && std::count(at, ids.end(), ids.back()) == 2;
    check<DataError>(is_good,
                     "the last token must occur exactly once before, and not right before itself");
    return Tokens{at[1]};
  };
  return task;
}

}  // namespace

// The function of induction heads (Olsson et al. 2022).
TaskEntry induction_task() {
  auto options = uniform_options();
  options.back().min = 3;
  return synthetic_task(
      "induction", "Find the earlier occurrence of the last token; output the token after it.",
      "Positions and two layers: the first looks one token back, the second finds the match.",
      options, describe);
}

}  // namespace xgrad

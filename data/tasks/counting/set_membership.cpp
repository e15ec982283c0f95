#include <algorithm>

#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

// A fair coin decides whether the query is a token of the set, or one of the other symbols. If all
// symbols are in the set, the query is one of them.
static Example draw(const Rng& rng, std::size_t length, std::uint32_t symbols) {
  Example example{.ids = random_tokens(rng, length - 1, symbols)};
  Tokens absent;
  for (std::int32_t id = 0; id < std::int32_t(symbols); ++id) {
    if (std::find(example.ids.begin(), example.ids.end(), id) == example.ids.end()) {
      absent.push_back(id);
    }
  }
  const Rng query = rng / "query";
  const bool is_member = absent.empty() || query.below(2, 0) == 1;
  const Tokens& choices = is_member ? example.ids : absent;
  example.ids.push_back(choices[query.below(choices.size(), 1)]);
  return example;
}

static Synthetic describe(const Options& options) {
  Synthetic task = one_target(uniform_tokens(options, [](const Tokens& ids) {
    return Tokens{std::find(ids.begin(), ids.end() - 1, ids.back()) != ids.end() - 1};
  }));
  task.shape.classes = 2;
  task.shape.class_names = {"no", "yes"};
  draw_lengths(task, Lengths(options, 2),
               [symbols = std::uint32_t(task.shape.vocabulary)](
                   const Rng& rng, std::size_t length) { return draw(rng, length, symbols); });
  return task;
}

TaskEntry set_membership_task() {
  return synthetic_task(
      {.name = "set_membership",
       .summary = "Say whether the last token occurs among those before it.",
       .options = length_options(16, {symbols_option(32, 2, 65536)}),
       .needs = "One layer; positions only to tell the last token from the others.",
       .theory = "solvable: one head in which equal tokens attract each other; a case of the pair "
                 "matching that one layer does (Sanford, Hsu and Telgarsky 2023)",
       .source = "after the pair matching of Sanford, Hsu and Telgarsky 2023, arXiv:2306.02896"},
      describe);
}

}  // namespace xgrad

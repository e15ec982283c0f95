#include <algorithm>

#include <xgrad/data/tasks/grammar/brackets.hpp>

namespace xgrad {

// Brackets of one kind must match each other, but not nest with those of other kinds.
static Tokens solve(const Tokens& ids) {
  Tokens waiting(kBracketKinds), targets;
  std::int32_t sum = 0;
  bool is_wrong = false;
  for (const std::int32_t id : ids) {
    const std::int32_t step = id % 2 == 0 ? 1 : -1;
    std::int32_t& own = waiting[std::size_t(id / 2)];
    own += step;
    sum += step;
    is_wrong = is_wrong || own < 0;
    targets.push_back(is_wrong ? wrong : sum == 0 ? closed : open);
  }
  return targets;
}

// Draws correct brackets. They open with probability 2/5 where one could close; a bracket that
// closes is of any kind that is open, all equally likely.
static Tokens draw(const Rng& rng, std::size_t length, std::uint32_t kinds) {
  const Tokens opens = random_tokens(rng / "opens", length, 5);
  const Tokens kind = random_tokens(rng / "kind", length, kinds);
  Tokens ids, waiting(kinds);
  for (std::size_t i = 0; i < length; ++i) {
    Tokens unclosed;
    for (std::uint32_t k = 0; k < kinds; ++k) {
      if (waiting[k] > 0) unclosed.push_back(std::int32_t(k));
    }
    const bool opens_one = unclosed.empty() || opens[i] < 2;
    const std::int32_t own =
        opens_one ? kind[i] : unclosed[(rng / "close" / i).below(unclosed.size(), 0)];
    waiting[std::size_t(own)] += opens_one ? 1 : -1;
    ids.push_back(2 * own + (opens_one ? 0 : 1));
  }
  return ids;
}

TaskEntry shuffle_dyck_task() {
  const auto describe = [](const Options& options) { return bracket_status(options, draw, solve); };
  return synthetic_task(
      {.name = "shuffle_dyck",
       .summary = "Like dyck, but brackets of different kinds need not nest: ([)] is closed.",
       .options = bracket_options(),
       .needs = "A causal mask and two layers; positions help little.",
       .theory = "solvable: one layer with a causal mask counts each kind of brackets "
                 "(Bhattamishra, Ahuja and Goyal 2020)",
       .source = "Bhattamishra, Ahuja and Goyal 2020, arXiv:2009.11264"},
      describe);
}

}  // namespace xgrad

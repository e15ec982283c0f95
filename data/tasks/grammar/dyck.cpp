#include <xgrad/data/tasks/grammar/brackets.hpp>

namespace xgrad {

static Tokens solve(const Tokens& ids) {
  Tokens waiting, targets;
  bool is_wrong = false;
  for (std::int32_t id : ids) {
    if (id % 2 == 0) {
      waiting.push_back(id + 1);
    } else if (!waiting.empty() && waiting.back() == id) {
      waiting.pop_back();
    } else {
      is_wrong = true;
    }
    targets.push_back(is_wrong ? wrong : waiting.empty() ? closed : open);
  }
  return targets;
}

// Draws correct brackets, which open with probability 2/5 where one could close.
static Tokens draw(const Rng& rng, std::size_t length, std::uint32_t kinds) {
  const Tokens opens = random_tokens(rng / "opens", length, 5);
  const Tokens kind = random_tokens(rng / "kind", length, kinds);
  Tokens ids, waiting;
  for (std::size_t i = 0; i < length; ++i) {
    if (waiting.empty() || opens[i] < 2) {
      ids.push_back(2 * kind[i]);
      waiting.push_back(2 * kind[i] + 1);
    } else {
      ids.push_back(waiting.back());
      waiting.pop_back();
    }
  }
  return ids;
}

// Prefixes of Dyck-k, as in RASP (Weiss et al. 2021).
TaskEntry dyck_task() {
  const auto describe = [](const Options& options) { return bracket_status(options, draw, solve); };
  return synthetic_task(
      {.name = "dyck",
       .summary = "For each bracket, say whether the sequence up to it is closed, open or wrong.",
       .options = bracket_options(),
       .needs = "Positions and two layers for one kind of brackets, more for several; deep nesting "
                "is hard.",
       .theory = "needs positions and depth: two layers suffice for a bounded depth (Yao et al. "
                 "2021, arXiv:2105.11115); no fixed encoder with hard attention is right at all "
                 "lengths (Hahn 2020, arXiv:1906.06755)",
       .source = "Weiss, Goldberg and Yahav 2021, arXiv:2106.06981"},
      describe);
}

}  // namespace xgrad

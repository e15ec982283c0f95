#include <xgrad/data/tasks/entries.hpp>
#include <xgrad/data/tasks/grammar/brackets.hpp>

namespace xgrad {

namespace {

Tokens solve(const Tokens& ids) {
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

// Draws correct brackets, which open with probability 2/5 where one could close. In half of the
// sequences, replaces one bracket by a random one.
Example draw(const Rng& rng, std::size_t length, std::uint32_t kinds) {
  const Tokens opens = random_tokens(rng / "opens", length, 5);
  const Tokens kind = random_tokens(rng / "kind", length, kinds);
  Example example;
  Tokens waiting;
  for (std::size_t i = 0; i < length; ++i) {
    if (waiting.empty() || opens[i] < 2) {
      example.ids.push_back(2 * kind[i]);
      waiting.push_back(2 * kind[i] + 1);
    } else {
      example.ids.push_back(waiting.back());
      waiting.pop_back();
    }
  }
  break_half(example.ids, rng / "fault", kinds);
  return example;
}

Synthetic describe(const Options& options) {
  const Lengths lengths(options);
  const auto kinds = std::uint32_t(get_int(options, "kinds"));
  Synthetic task = bracket_status(lengths, kinds);
  task.draw = [=](const Rng& rng) { return draw(rng, lengths.draw(rng), kinds); };
  task.solve = solve;
  return task;
}

}  // namespace

// Prefixes of Dyck-k, as in RASP (Weiss et al. 2021).
TaskEntry dyck_task() {
  auto options = length_options();
  options.push_back({"kinds", 2, "Number of kinds of brackets.", 1, kBracketKinds});
  return synthetic_task(
      "dyck", "For each bracket, say whether the sequence up to it is closed, open or wrong.",
      "Positions and two layers for one kind of brackets, more for several; deep nesting is hard.",
      options, describe);
}

}  // namespace xgrad

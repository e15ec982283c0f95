#include <algorithm>

#include <xgrad/data/tasks/entries.hpp>
#include <xgrad/data/tasks/grammar/brackets.hpp>

namespace xgrad {

namespace {

// Brackets of one kind must match each other, but not nest with those of other kinds.
Tokens solve(const Tokens& ids) {
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
// closes is of any kind that is open, all equally likely. In half of the sequences, replaces one.
Example draw(const Rng& rng, std::size_t length, std::uint32_t kinds) {
  const Tokens opens = random_tokens(rng / "opens", length, 5);
  const Tokens kind = random_tokens(rng / "kind", length, kinds);
  Example example;
  Tokens waiting(kinds);
  for (std::size_t i = 0; i < length; ++i) {
    Tokens unclosed;
    for (std::uint32_t k = 0; k < kinds; ++k) {
      if (waiting[k] > 0) unclosed.push_back(std::int32_t(k));
    }
    const bool opens_one = unclosed.empty() || opens[i] < 2;
    const std::int32_t own =
        opens_one ? kind[i] : unclosed[(rng / "close" / i).below(unclosed.size(), 0)];
    waiting[std::size_t(own)] += opens_one ? 1 : -1;
    example.ids.push_back(2 * own + (opens_one ? 0 : 1));
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

TaskEntry shuffle_dyck_task() {
  auto options = length_options();
  options.push_back({"kinds", 2, "Number of kinds of brackets.", 1, kBracketKinds});
  return synthetic_task("shuffle_dyck",
                        "Like dyck, but brackets of different kinds need not nest: ([)] is closed.",
                        "A causal mask and two layers; positions help little.", options, describe);
}

}  // namespace xgrad

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

namespace {

struct Sizes {
  std::uint32_t kinds;
  std::size_t depth;
};

// Even ids open a bracket; the next id closes it. Class `kinds` means that no bracket is open.
Tokens solve(const Tokens& ids, const Sizes& sizes) {
  Tokens waiting, targets;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] % 2 == 0) {
      check<DataError>(waiting.size() < sizes.depth, "token ", i + 1, " is at depth ",
                       sizes.depth + 1, ", must be at most ", sizes.depth);
      waiting.push_back(ids[i] / 2);
    } else {
      check<DataError>(!waiting.empty() && waiting.back() == ids[i] / 2, "token ", i + 1,
                       " does not close the nearest open bracket");
      waiting.pop_back();
    }
    targets.push_back(waiting.empty() ? std::int32_t(sizes.kinds) : waiting.back());
  }
  return targets;
}

// Draws brackets that open and close with equal probability where both are possible.
Example draw(const Rng& rng, std::size_t length, const Sizes& sizes) {
  const Tokens opens = random_tokens(rng / "opens", length, 2);
  const Tokens kind = random_tokens(rng / "kind", length, sizes.kinds);
  Example example;
  Tokens waiting;
  for (std::size_t i = 0; i < length; ++i) {
    const bool can_open = waiting.size() < sizes.depth;
    if (waiting.empty() || (can_open && opens[i] == 1)) {
      example.ids.push_back(2 * kind[i]);
      waiting.push_back(kind[i]);
    } else {
      example.ids.push_back(2 * waiting.back() + 1);
      waiting.pop_back();
    }
  }
  return example;
}

Synthetic describe(const Options& options) {
  const Sizes sizes{std::uint32_t(get_int(options, "kinds")), get_size(options, "depth")};
  Synthetic task;
  for (std::uint32_t kind = 1; kind <= sizes.kinds; ++kind) {
    const std::string name = std::to_string(kind);
    task.shape.token_names.insert(task.shape.token_names.end(), {"(" + name, ")" + name});
    task.shape.class_names.push_back("(" + name);
  }
  task.shape.class_names.push_back("none");
  draw_lengths(task, Lengths(options),
               [sizes](const Rng& rng, std::size_t length) { return draw(rng, length, sizes); });
  task.solve = [sizes](const Tokens& ids) { return solve(ids, sizes); };
  return task;
}

}  // namespace

// Prefixes of Dyck-(k, D): brackets of k kinds, nested at most D deep (Yao et al. 2021). The
// nearest open bracket is what tells which bracket may close next.
TaskEntry dyck_nearest_task() {
  return synthetic_task(
      {.name = "dyck_nearest",
       .summary = "For each bracket, name the nearest one before it that is still open.",
       .options =
           length_options(32, {{"kinds", 8, "Number of kinds of brackets.", 1, 1024},
                               {"depth", 10, "Most brackets that may be open at once.", 1, 65536}}),
       .needs = "Positions and two layers: the first finds the depth, the second the last bracket "
                "that opened at this depth.",
       .theory = "needs positions and depth: two layers of soft attention suffice for any depth "
                 "bound (Yao et al. 2021)",
       .source = "Yao et al. 2021, Self-Attention Networks Can Process Bounded Hierarchical "
                 "Languages, arXiv:2105.11115"},
      describe);
}

}  // namespace xgrad

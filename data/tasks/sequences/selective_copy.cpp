#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/generated_task.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

// Ids below `noise` are numbers; the one after it is a slot.
static Tokens numbers_in(Tokens ids, std::int32_t noise) {
  std::erase_if(ids, [noise](std::int32_t id) { return id >= noise; });
  return ids;
}

static Tokens solve(const Tokens& ids, std::int32_t noise) {
  const Tokens kept = numbers_in(ids, noise);
  const auto first_slot = std::ranges::find(ids, noise + 1);
  const bool at_end = std::count(first_slot, ids.end(), noise + 1) == ids.end() - first_slot;
  check<DataError>(at_end && ids.end() - first_slot == std::ptrdiff_t(kept.size()), "expected ",
                   kept.size(), " _ at the end, one for each number");
  Tokens targets(ids.size() - kept.size(), kIgnore);
  targets.insert(targets.end(), kept.begin(), kept.end());
  return targets;
}

// Follows the selective copying of Gu and Dao (2023), with slots for the output.
TaskEntry selective_copy_task() {
  const auto describe = [](const Options& options) {
    const std::size_t length = get_size(options, "length"), marked = get_size(options, "marked"),
                      symbols = get_size(options, "symbols");
    check<ConfigError>(marked <= length, "marked is ", marked, ", must be at most length, ",
                       length);
    const auto noise = std::int32_t(symbols);
    Synthetic task;
    task.shape.max_length = length + marked;
    task.shape.classes = symbols;
    task.shape.token_names = numbered(symbols);
    task.shape.token_names.insert(task.shape.token_names.end(), {"-", kSlot});
    task.draw = [=](const Rng& rng) {
      const auto places = (rng / "places").permutation(length);
      const Tokens kept = random_tokens(rng, marked, symbols);
      Example example{.ids = Tokens(length, noise)};
      for (std::size_t i = 0; i < marked; ++i) example.ids[places[i]] = kept[i];
      example.ids.insert(example.ids.end(), marked, noise + 1);
      return example;
    };
    task.solve = [noise](const Tokens& ids) { return solve(ids, noise); };
    task.with_slots = [noise](Tokens ids) {  // a slot for each number
      if (std::ranges::count(ids, noise + 1) > 0) return ids;
      ids.insert(ids.end(), numbers_in(ids, noise).size(), noise + 1);
      return ids;
    };
    return task;
  };
  return synthetic_task(
      {.name = "selective_copy",
       .summary = "Copy the numbers scattered in noise into the slots at the end, in order.",
       .options = {{"length", 16, "Number of tokens before the slots.", 1, 65536},
                   {"marked", 4, "How many numbers to copy; there are as many slots.", 1, 65536},
                   {"symbols", 8, "Number of different numbers.", 2, 65536}},
       .needs = "Positions and two layers: the first counts the numbers before each, the second "
                "fetches them.",
       .theory = "needs positions and depth: the first layer counts the numbers before each, the "
                 "second fetches them",
       .source = "Gu and Dao 2023 (Mamba), arXiv:2312.00752"},
      describe);
}

}  // namespace xgrad

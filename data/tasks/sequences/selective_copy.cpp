#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/generated_task.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

namespace {

// Ids after those of the symbols.
struct Layout {
  std::int32_t noise, slot;
};

Tokens solve(const Tokens& ids, Layout layout) {
  Tokens kept, targets;
  for (std::int32_t id : ids) {
    if (id < layout.noise) kept.push_back(id);
  }
  const auto first_slot = std::find(ids.begin(), ids.end(), layout.slot);
  const bool at_end = std::count(first_slot, ids.end(), layout.slot) == ids.end() - first_slot;
  check<DataError>(at_end && ids.end() - first_slot == std::ptrdiff_t(kept.size()), "expected ",
                   kept.size(), " _ at the end, one for each number");
  targets.assign(ids.size() - kept.size(), kIgnore);
  targets.insert(targets.end(), kept.begin(), kept.end());
  return targets;
}

// A slot for each number.
Tokens with_slots(Tokens ids, Layout layout) {
  if (std::count(ids.begin(), ids.end(), layout.slot) > 0) return ids;
  const auto kept = std::count_if(ids.begin(), ids.end(),
                                  [layout](std::int32_t id) { return id < layout.noise; });
  ids.insert(ids.end(), std::size_t(kept), layout.slot);
  return ids;
}

Synthetic describe(const Options& options) {
  const auto length = std::size_t(get_int(options, "length"));
  const auto marked = std::size_t(get_int(options, "marked"));
  const auto symbols = std::uint32_t(get_int(options, "symbols"));
  check<ConfigError>(marked <= length, "marked is ", marked, ", must be at most length, ", length);
  const Layout layout{std::int32_t(symbols), std::int32_t(symbols) + 1};
  Synthetic task;
  task.shape.vocabulary = symbols + 2;
  task.shape.max_length = length + marked;
  task.shape.classes = symbols;
  for (std::uint32_t i = 0; i < symbols; ++i) task.shape.token_names.push_back(std::to_string(i));
  task.shape.token_names.insert(task.shape.token_names.end(), {"-", kSlot});
  task.draw = [=](const Rng& rng) {
    const auto places = (rng / "places").permutation(length);
    const Tokens kept = random_tokens(rng, marked, symbols);
    Example example{Tokens(length, layout.noise), {}, {}};
    for (std::size_t i = 0; i < marked; ++i) example.ids[places[i]] = kept[i];
    example.ids.insert(example.ids.end(), marked, layout.slot);
    return example;
  };
  task.solve = [layout](const Tokens& ids) { return solve(ids, layout); };
  task.with_slots = [layout](Tokens ids) { return with_slots(std::move(ids), layout); };
  return task;
}

}  // namespace

// Follows the selective copying of Gu and Dao (2023), with slots for the output.
TaskEntry selective_copy_task() {
  return synthetic_task(
      "selective_copy", "Copy the numbers scattered in noise into the slots at the end, in order.",
      "Positions and two layers: the first counts the numbers before each, the "
      "second fetches them.",
      {{"length", 16, "Number of tokens before the slots.", 1, 65536},
       {"marked", 4, "How many numbers to copy; there are as many slots.", 1, 65536},
       {"symbols", 8, "Number of different numbers.", 2, 65536}},
      describe);
}

}  // namespace xgrad

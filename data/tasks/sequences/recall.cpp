// Tasks that remember tokens and output them later.
#include <algorithm>
#include <map>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/generated_task.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

namespace {

// Ids below `noise` are numbers; the one after it is a slot.
Tokens numbers_in(Tokens ids, std::int32_t noise) {
  std::erase_if(ids, [noise](std::int32_t id) { return id >= noise; });
  return ids;
}

Tokens copy_numbers(const Tokens& ids, std::int32_t noise) {
  const Tokens kept = numbers_in(ids, noise);
  const auto first_slot = std::ranges::find(ids, noise + 1);
  const bool at_end = std::count(first_slot, ids.end(), noise + 1) == ids.end() - first_slot;
  check<DataError>(at_end && ids.end() - first_slot == std::ptrdiff_t(kept.size()), "expected ",
                   kept.size(), " _ at the end, one for each number");
  Tokens targets(ids.size() - kept.size(), kIgnore);
  targets.insert(targets.end(), kept.begin(), kept.end());
  return targets;
}

struct Sizes {
  std::size_t pairs, queries, keys, values;
};

// Tokens below `keys` are keys, the others values. A key directly before a value is bound to it;
// every other key is a query.
Tokens recall(const Tokens& ids, std::int32_t keys) {
  std::map<std::int32_t, std::int32_t> value_of;
  Tokens targets;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    check<DataError>(ids[i] < keys, "token ", i + 1, " is a value without a key before it");
    if (i + 1 < ids.size() && ids[i + 1] >= keys) {
      const bool is_new = value_of.emplace(ids[i], ids[i + 1] - keys).second;
      check<DataError>(is_new, "token ", i + 1, " is a key that has a value already");
      targets.insert(targets.end(), {kIgnore, kIgnore});
      ++i;
    } else {
      const auto found = value_of.find(ids[i]);
      check<DataError>(found != value_of.end(), "token ", i + 1, " is a key without a value");
      targets.push_back(found->second);
    }
  }
  return targets;
}

Example draw_pairs(const Rng& rng, const Sizes& sizes) {
  const auto keys = (rng / "keys").permutation(sizes.keys);
  const Tokens values = random_tokens(rng / "values", sizes.pairs, std::uint32_t(sizes.values));
  Example example;
  for (std::size_t i = 0; i < sizes.pairs; ++i) {
    example.ids.push_back(std::int32_t(keys[i]));
    example.ids.push_back(std::int32_t(sizes.keys) + values[i]);
  }
  Rng order = rng / "queries";
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < sizes.queries; ++i) {
    if (i % sizes.pairs == 0) {
      asked = order.permutation(sizes.pairs);
      order = order / "again";
    }
    example.ids.push_back(std::int32_t(keys[asked[i % sizes.pairs]]));
  }
  return example;
}

}  // namespace

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
    task.solve = [noise](const Tokens& ids) { return copy_numbers(ids, noise); };
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

// Multi-query associative recall (Arora et al. 2023, "Zoology"), with all queries at the end.
TaskEntry mqar_task() {
  const auto describe = [](const Options& options) {
    const Sizes sizes{get_size(options, "pairs"), get_size(options, "queries"),
                      get_size(options, "keys"), get_size(options, "values")};
    check<ConfigError>(sizes.pairs <= sizes.keys, "pairs is ", sizes.pairs,
                       ", must be at most keys, ", sizes.keys);
    Synthetic task;
    task.shape.max_length = 2 * sizes.pairs + sizes.queries;
    auto& names = task.shape.token_names = numbered(sizes.keys, "k");
    task.shape.class_names = numbered(sizes.values, "v");
    names.insert(names.end(), task.shape.class_names.begin(), task.shape.class_names.end());
    task.draw = [sizes](const Rng& rng) { return draw_pairs(rng, sizes); };
    task.solve = [keys = std::int32_t(sizes.keys)](const Tokens& ids) { return recall(ids, keys); };
    return task;
  };
  return synthetic_task(
      {.name = "mqar",
       .summary = "Given pairs of a key and a value, output the value of each key asked for.",
       .options = {{"pairs", 4, "Number of pairs of a key and a value.", 1, 4096},
                   {"queries", 4,
                    "Number of keys asked for at the end; each once before any twice.", 1, 4096},
                   {"keys", 16, "Number of different keys.", 2, 4096},
                   {"values", 16, "Number of different values.", 2, 4096}},
       .needs = "Positions and two layers: the first binds a value to the key before it, the "
                "second looks the key up.",
       .theory = "needs positions and depth: the first layer binds a value to its key, the second "
                 "looks the key up (Arora et al. 2023)",
       .source = "Arora et al. 2023, Zoology, arXiv:2312.04927"},
      describe);
}

}  // namespace xgrad

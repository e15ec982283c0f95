// Tasks that find tokens of a sequence: by their places, their neighbours or their kind.
#include <algorithm>
#include <map>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/synthetic/synthetic.hpp>
#include <xgrad/data/task.hpp>

namespace xgrad {

namespace {

// A fair coin decides whether the query is a token of the set, or one of the other symbols. If all
// symbols are in the set, the query is one of them.
Example draw_set(const Rng& rng, std::size_t length, std::size_t symbols) {
  Tokens ids = random_tokens(rng, length - 1, symbols), absent;
  for (std::int32_t id = 0; id < std::int32_t(symbols); ++id) {
    if (std::ranges::find(ids, id) == ids.end()) absent.push_back(id);
  }
  const Rng query = rng / "query";
  const bool is_member = absent.empty() || query.below(2, 0) == 1;
  const Tokens& choices = is_member ? ids : absent;
  ids.push_back(choices[query.below(choices.size(), 1)]);
  return {.ids = std::move(ids)};
}

// Ids below `noise` are numbers; noise + 1 is a slot.
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

extern const std::vector<TaskEntry> kLookupTasks = {
    // The FIRST language of Chiang and Cholak (2022): easy at the lengths seen in training, hard at
    // greater lengths.
    synthetic_task(
        {.name = "first",
         .summary = "Output the first token of the sequence.",
         .options = uniform_options(),
         .needs = "Positions and one layer with one head.",
         .theory =
             "needs positions: one head that attends to the first place suffices, but its weight "
             "fades with the length unless scores grow with log n (Chiang and Cholak 2022)",
         .source = "Chiang and Cholak 2022, arXiv:2202.12172"},
        [](const Options& options, Synthetic& task) {
          task = one_target(
              uniform_tokens(options, [](const Tokens& ids) { return Tokens{ids.front()}; }));
        }),
    synthetic_task(
        {.name = "kth_element",
         .summary = "Output the k-th token of the sequence.",
         .options = length_options(
             16, {symbols_option(), {"k", 5, "The place to read, counted from 1.", 1, 65536}}),
         .needs = "Positions and one layer with one head.",
         .theory = "needs positions: one head that attends to place k suffices, as for the first "
                   "place (Chiang and Cholak 2022, arXiv:2202.12172)",
         .source = "after FIRST of Chiang and Cholak 2022, arXiv:2202.12172"},
        [](const Options& options, Synthetic& task) {
          const std::size_t k = get_size(options, "k"), shortest = Lengths(options).shortest;
          check<ConfigError>(k <= shortest, "k is ", k, ", must be at most ", shortest,
                             ", the shortest length");
          task = one_target(uniform_tokens(options, [k](const Tokens& ids) {
            check<DataError>(k <= ids.size(), "expected at least ", k, " tokens");
            return Tokens{ids[k - 1]};
          }));
        }),
    // An easy task for attention, while a recurrent network needs a state as long as the sequence
    // (Bhattamishra et al. 2024). Ids below `symbols` are symbols; the others point to a place.
    synthetic_task(
        {.name = "index_lookup",
         .summary = "Output the token at the place that the last token names.",
         .options = length_options(16, {symbols_option(10, 1, 65536)}),  // every token has a name
         .needs = "Positions and one layer with one head.",
         .theory = "needs positions: one layer suffices with a width that grows with the logarithm "
                   "of the length (Bhattamishra et al. 2024)",
         .source = "Bhattamishra et al. 2024, arXiv:2406.09347"},
        [](const Options& options, Synthetic& task) {
          const auto symbols = std::int32_t(get_int(options, "symbols"));
          task = one_target(uniform_tokens(options, [symbols](const Tokens& ids) {
            for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
              check<DataError>(ids[i] < symbols, "token ", i + 1,
                               " is an index, which must come last");
            }
            const std::int32_t place = ids.back() - symbols;
            check<DataError>(place >= 0 && std::size_t(place) + 1 < ids.size(),
                             "the last token must be an index from @1 to @", ids.size() - 1);
            return Tokens{ids[std::size_t(place)]};
          }));
          task.shape.token_names =
              numbered(task.shape.classes, numbered(task.shape.max_length - 1, {}, "@", 1));
          draw_lengths(task, Lengths(options, 2), [symbols](const Rng& rng, std::size_t length) {
            Tokens ids = random_tokens(rng, length - 1, std::size_t(symbols));
            ids.push_back(symbols + std::int32_t((rng / "index").below(length - 1, 0)));
            return Example{.ids = std::move(ids)};
          });
        }),
    synthetic_task(
        {.name = "needle",
         .summary = "Find the only marker and output the token after it.",
         .options = length_options(32, {symbols_option(10, 1, 65536)}),  // every token has a name
         .needs = "Positions and two layers: the first looks one token back, the second finds the "
                  "marker.",
         .theory = "needs positions and depth: the first layer looks one token back, the second "
                   "finds the marker",
         .source = "after the needle in a haystack of Kamradt 2023"},
        [](const Options& options, Synthetic& task) {
          const auto marker = std::int32_t(get_int(options, "symbols"));
          task = one_target(uniform_tokens(options, [marker](const Tokens& ids) {
            const auto at = std::ranges::find(ids, marker);
            const bool is_good =
                ids.end() - at > 1 && std::find(at + 1, ids.end(), marker) == ids.end();
            check<DataError>(is_good, "expected one *, with a number after it");
            return Tokens{at[1]};
          }));
          task.shape.token_names = numbered(task.shape.classes, {"*"});
          draw_lengths(task, Lengths(options, 2), [marker](const Rng& rng, std::size_t length) {
            Tokens ids = random_tokens(rng, length, std::size_t(marker));
            ids[(rng / "place").below(length - 1, 0)] = marker;
            return Example{.ids = std::move(ids)};
          });
        }),
    // The function of induction heads (Olsson et al. 2022).
    synthetic_task(
        {.name = "induction",
         .summary = "Find the earlier occurrence of the last token; output the token after it.",
         .options = length_options(16, {symbols_option(10, 3)}),
         .needs = "Positions and two layers: the first looks one token back, the second finds the "
                  "match.",
         .theory =
             "needs positions and depth: two layers suffice (Olsson et al. 2022); one layer would "
             "have to be exponentially larger (Sanford, Hsu and Telgarsky 2024, arXiv:2408.14332)",
         .source = "Olsson et al. 2022, arXiv:2209.11895"},
        [](const Options& options, Synthetic& task) {
          task = one_target(uniform_tokens(options, [](const Tokens& ids) {
            const auto at = std::ranges::find(ids, ids.back());
            check<DataError>(
                ids.end() - at > 2 && std::count(at, ids.end(), ids.back()) == 2,
                "the last token must occur exactly once before, and not right before itself");
            return Tokens{at[1]};
          }));
          const std::size_t symbols = task.shape.vocabulary;
          draw_lengths(task, Lengths(options, 3), [symbols](const Rng& rng, std::size_t length) {
            const auto query = std::int32_t((rng / "query").below(symbols, 0));
            Tokens ids = random_tokens(rng, length, symbols - 1);
            for (std::int32_t& id : ids) id += id >= query;  // any token except the query
            ids[(rng / "place").below(length - 2, 0)] = query;
            ids.back() = query;
            return Example{.ids = std::move(ids)};
          });
        }),
    synthetic_task(
        {.name = "set_membership",
         .summary = "Say whether the last token occurs among those before it.",
         .options = length_options(16, {symbols_option(32, 2, 65536)}),
         .needs = "One layer; positions only to tell the last token from the others.",
         .theory =
             "needs positions: they tell the last token from the others; one head whose score is "
             "high for equal tokens suffices, a case of pair matching, which one layer can "
             "do (Sanford, Hsu and Telgarsky 2023)",
         .source = "after the pair matching of Sanford, Hsu and Telgarsky 2023, arXiv:2306.02896"},
        [](const Options& options, Synthetic& task) {
          task = one_target(uniform_tokens(options, [](const Tokens& ids) {
            return Tokens{std::ranges::find(ids, ids.back()) != ids.end() - 1};
          }));
          task.shape.class_names = {"no", "yes"};
          draw_lengths(task, Lengths(options, 2),
                       [symbols = task.shape.vocabulary](const Rng& rng, std::size_t length) {
                         return draw_set(rng, length, symbols);
                       });
        }),
    // Follows the selective copying of Gu and Dao (2023), with slots for the output.
    synthetic_task(
        {.name = "selective_copy",
         .summary = "Copy the numbers scattered in noise into the slots at the end, in order.",
         .options = {{"length", 16, "Number of tokens before the slots.", 1, 65536},
                     {"marked", 4, "Number of numbers to copy, and of slots at the end.", 1, 65536},
                     {"symbols", 8, "Number of different numbers.", 2, 65536}},
         .needs = "Positions and two layers: the first counts the numbers before each number, the "
                  "second fetches the numbers.",
         .theory = "needs positions and depth: the first layer counts the numbers before each "
                   "number, the second fetches the numbers",
         .source = "Gu and Dao 2023 (Mamba), arXiv:2312.00752"},
        [](const Options& options, Synthetic& task) {
          const std::size_t length = get_size(options, "length"),
                            marked = get_size(options, "marked"),
                            symbols = get_size(options, "symbols");
          check<ConfigError>(marked <= length, "marked is ", marked, ", must be at most length, ",
                             length);
          const auto noise = std::int32_t(symbols);
          task.shape.max_length = length + marked;
          task.shape.classes = symbols;
          task.shape.token_names = numbered(symbols, {"-", kSlot});
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
        }),
    // Multi-query associative recall (Arora et al. 2023, "Zoology"), with all queries at the end.
    synthetic_task(
        {.name = "mqar",
         .summary = "Given pairs of a key and a value, output the value of each key asked for.",
         .options =
             {{"pairs", 4, "Number of pairs of a key and a value.", 1, 4096},
              {"queries", 4,
               "Number of keys asked for at the end; no key repeats until all have been asked for.",
               1, 4096},
              {"keys", 16, "Number of different keys.", 2, 4096},
              {"values", 16, "Number of different values.", 2, 4096}},
         .needs = "Positions and two layers: the first binds a value to the key before it, the "
                  "second looks the key up.",
         .theory = "needs positions and depth: the first layer binds a value to its key, the "
                   "second looks the key up (Arora et al. 2023)",
         .source = "Arora et al. 2023, Zoology, arXiv:2312.04927"},
        [](const Options& options, Synthetic& task) {
          const Sizes sizes{get_size(options, "pairs"), get_size(options, "queries"),
                            get_size(options, "keys"), get_size(options, "values")};
          check<ConfigError>(sizes.pairs <= sizes.keys, "pairs is ", sizes.pairs,
                             ", must be at most keys, ", sizes.keys);
          task.shape.max_length = 2 * sizes.pairs + sizes.queries;
          task.shape.class_names = numbered(sizes.values, {}, "v");
          task.shape.token_names = numbered(sizes.keys, task.shape.class_names, "k");
          task.draw = [sizes](const Rng& rng) { return draw_pairs(rng, sizes); };
          task.solve = [keys = std::int32_t(sizes.keys)](const Tokens& ids) {
            return recall(ids, keys);
          };
        })};

}  // namespace xgrad

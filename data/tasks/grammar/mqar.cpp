#include <map>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

namespace {

struct Sizes {
  std::size_t pairs, queries, keys, values;
};

// Tokens below `keys` are keys, the others values. A key directly before a value is bound to it;
// every other key is a query.
Tokens solve(const Tokens& ids, std::int32_t keys) {
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

Example draw(const Rng& rng, const Sizes& sizes) {
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
    task.draw = [sizes](const Rng& rng) { return draw(rng, sizes); };
    task.solve = [keys = std::int32_t(sizes.keys)](const Tokens& ids) { return solve(ids, keys); };
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

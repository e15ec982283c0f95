#include <algorithm>

#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

namespace {

// A fair coin decides whether the query is a token of the set, or one of the other symbols. If all
// symbols are in the set, the query is one of them.
Example draw(const Rng& rng, std::size_t length, std::uint32_t symbols) {
  Example example;
  example.ids = random_tokens(rng, length - 1, symbols);
  Tokens absent;
  for (std::int32_t id = 0; id < std::int32_t(symbols); ++id) {
    if (std::find(example.ids.begin(), example.ids.end(), id) == example.ids.end()) {
      absent.push_back(id);
    }
  }
  const Rng query = rng / "query";
  const bool is_member = absent.empty() || query.below(2, 0) == 1;
  const Tokens& choices = is_member ? example.ids : absent;
  example.ids.push_back(choices[query.below(choices.size(), 1)]);
  return example;
}

Synthetic describe(const Options& options) {
  Synthetic task = uniform_tokens(options);
  const Lengths lengths(options, 2);
  task.shape.output = OutputKind::sequence;
  task.shape.classes = 2;
  task.shape.class_names = {"no", "yes"};
  task.draw = [lengths, symbols = std::uint32_t(task.shape.vocabulary)](const Rng& rng) {
    return draw(rng, lengths.draw(rng), symbols);
  };
  task.solve = [](const Tokens& ids) {
    return Tokens{std::find(ids.begin(), ids.end() - 1, ids.back()) != ids.end() - 1};
  };
  return task;
}

}  // namespace

TaskEntry set_membership_task() {
  auto options = length_options();
  options.push_back({"symbols", 32, "Number of different tokens.", 2, 65536});
  return synthetic_task(
      "set_membership", "Say whether the last token occurs among those before it.",
      "One layer; positions only to tell the last token from the others.", options, describe);
}

}  // namespace xgrad

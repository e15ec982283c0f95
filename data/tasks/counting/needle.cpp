#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

namespace {

Synthetic describe(const Options& options) {
  Synthetic task = uniform_tokens(options);
  const Lengths lengths(options, 2);
  const auto symbols = std::int32_t(task.shape.classes), marker = symbols;
  task.shape.output = OutputKind::sequence;
  task.shape.vocabulary = std::size_t(symbols) + 1;
  for (std::int32_t i = 0; i < symbols; ++i) task.shape.token_names.push_back(std::to_string(i));
  task.shape.token_names.push_back("*");
  task.draw = [lengths, symbols, marker](const Rng& rng) {
    const std::size_t length = lengths.draw(rng);
    Example example;
    example.ids = random_tokens(rng, length, std::uint32_t(symbols));
    example.ids[(rng / "place").below(length - 1, 0)] = marker;
    return example;
  };
  task.solve = [marker](const Tokens& ids) {
    const auto at = std::find(ids.begin(), ids.end(), marker);
    const bool is_good = ids.end() - at > 1 && std::find(at + 1, ids.end(), marker) == ids.end();
    check<DataError>(is_good, "expected one *, with a number after it");
    return Tokens{at[1]};
  };
  return task;
}

}  // namespace

TaskEntry needle_task() {
  auto options = uniform_options(32);
  options.back().max = 65536;  // every token has a name
  return synthetic_task(
      "needle", "Find the only marker and output the token after it.",
      "Positions and two layers: the first looks one token back, the second finds the marker.",
      options, describe);
}

}  // namespace xgrad

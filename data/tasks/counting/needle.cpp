#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

static Synthetic describe(const Options& options) {
  const auto symbols = std::int32_t(get_int(options, "symbols")), marker = symbols;
  Synthetic task = one_target(uniform_tokens(options, [marker](const Tokens& ids) {
    const auto at = std::find(ids.begin(), ids.end(), marker);
    const bool is_good = ids.end() - at > 1 && std::find(at + 1, ids.end(), marker) == ids.end();
    check<DataError>(is_good, "expected one *, with a number after it");
    return Tokens{at[1]};
  }));
  task.shape.token_names = numbered(task.shape.classes);
  task.shape.token_names.push_back("*");
  task.shape.vocabulary += 1;
  draw_lengths(task, Lengths(options, 2), [=](const Rng& rng, std::size_t length) {
    Tokens ids = random_tokens(rng, length, std::uint32_t(symbols));
    ids[(rng / "place").below(length - 1, 0)] = marker;
    return Example{.ids = std::move(ids)};
  });
  return task;
}

TaskEntry needle_task() {
  return synthetic_task(
      {.name = "needle",
       .summary = "Find the only marker and output the token after it.",
       .options = length_options(32, {symbols_option(10, 1, 65536)}),  // every token has a name
       .needs =
           "Positions and two layers: the first looks one token back, the second finds the marker.",
       .theory = "needs positions and depth: the first layer looks one token back, the second "
                 "finds the marker",
       .source = "after the needle in a haystack of Kamradt 2023"},
      describe);
}

}  // namespace xgrad

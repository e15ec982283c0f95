#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

TaskEntry even_pairs_task() {
  const auto describe = [](const Options& options) {
    Synthetic task = uniform_bits(options);
    task.solve = [](const Tokens& ids) {
      std::size_t changes = 0;
      for (std::size_t i = 1; i < ids.size(); ++i) changes += ids[i] != ids[i - 1];
      return Tokens{changes % 2 == 0};
    };
    return task;
  };
  return synthetic_task(
      "even_pairs", "Say whether the number of pairs 01 and 10 is even.",
      "Positions and one layer: it is even if the first and last token are equal.",
      length_options(), describe);
}

}  // namespace xgrad

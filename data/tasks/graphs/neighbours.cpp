#include <algorithm>

#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

static constexpr double kDegree = 2.5;  // mean number of neighbours

static Tokens smallest_within(Tokens values, const Edges& edges, std::int64_t hops) {
  for (; hops > 0; --hops) {
    const Tokens before = values;
    for (const auto& [a, b] : edges) {
      values[std::size_t(a)] = std::min(values[std::size_t(a)], before[std::size_t(b)]);
      values[std::size_t(b)] = std::min(values[std::size_t(b)], before[std::size_t(a)]);
    }
  }
  return values;
}

static Synthetic describe(const Options& options) {
  const auto symbols = std::uint32_t(get_int(options, "symbols"));
  Synthetic task;
  task.shape.vocabulary = task.shape.classes = symbols;
  task.shape.graph = true;
  draw_lengths(task, Lengths(options, 2),
               [symbols, hops = get_int(options, "hops")](const Rng& rng, std::size_t nodes) {
                 Example example{.ids = random_tokens(rng, nodes, symbols)};
                 example.edges = random_edges(rng / "edges", nodes, kDegree);
                 example.targets = smallest_within(example.ids, example.edges, hops);
                 return example;
               });
  return task;
}

// S4.4: the answer for a node depends on the nodes around it.
TaskEntry neighbours_task() {
  return synthetic_task(
      {.name = "neighbours",
       .summary = "For each node of a graph, find the smallest number on it and on nodes within "
                  "`hops` edges.",
       .options = length_options(
           12, {symbols_option(),
                {"hops", 1, "Maximum number of edges between a node and those whose numbers count.",
                 1, 64}}),
       .needs = "The edges as an attention mask, one layer for each hop, and no positions.",
       .theory = "needs depth: news travels one edge a layer under an adjacency mask (Gilmer et "
                 "al. 2017, arXiv:1704.01212)",
       .source = "the message passing of Gilmer et al. 2017, arXiv:1704.01212"},
      describe);
}

}  // namespace xgrad

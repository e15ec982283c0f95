#include <algorithm>

#include <xgrad/data/synthetic/random_graph.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>
#include <xgrad/data/tasks/entries.hpp>

namespace xgrad {

namespace {

constexpr double kDegree = 2.5;  // mean number of neighbours

Tokens smallest_within(Tokens values, const Edges& edges, std::int64_t hops) {
  for (; hops > 0; --hops) {
    const Tokens before = values;
    for (const auto& [a, b] : edges) {
      values[std::size_t(a)] = std::min(values[std::size_t(a)], before[std::size_t(b)]);
      values[std::size_t(b)] = std::min(values[std::size_t(b)], before[std::size_t(a)]);
    }
  }
  return values;
}

Synthetic describe(const Options& options) {
  const Lengths lengths(options, 2);
  const auto symbols = std::uint32_t(get_int(options, "symbols"));
  const std::int64_t hops = get_int(options, "hops");
  Synthetic task;
  task.shape.vocabulary = task.shape.classes = symbols;
  task.shape.max_length = lengths.longest;
  task.shape.graph = true;
  task.draw = [=](const Rng& rng) {
    const std::size_t nodes = lengths.draw(rng);
    Example example;
    example.ids = random_tokens(rng, nodes, symbols);
    example.edges = random_edges(rng / "edges", nodes, kDegree);
    example.targets = smallest_within(example.ids, example.edges, hops);
    return example;
  };
  return task;
}

}  // namespace

// S4.4: the answer for a node depends on the nodes around it.
TaskEntry neighbours_task() {
  auto options = uniform_options(12);
  options.push_back(
      {"hops", 1, "Maximum number of edges between a node and those whose numbers count.", 1, 64});
  return synthetic_task(
      "neighbours",
      "For each node of a graph, find the smallest number on it and on nodes within `hops` edges.",
      "The edges as an attention mask, one layer for each hop, and no positions.", options,
      describe);
}

}  // namespace xgrad

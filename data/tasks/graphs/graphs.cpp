// Tasks about graphs. The answer for a node depends on the nodes around it.
#include <algorithm>

#include <xgrad/data/synthetic/synthetic.hpp>

namespace xgrad {

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

enum Atom : std::int32_t { carbon, nitrogen, oxygen };

static bool has_motif(const Tokens& atoms, const Edges& bonds) {
  std::vector<int> oxygens(atoms.size());  // oxygens bound to each nitrogen
  for (const auto& [a, b] : bonds) {
    for (const auto& [from, to] : {std::pair(a, b), {b, a}}) {
      oxygens[std::size_t(from)] +=
          atoms[std::size_t(from)] == nitrogen && atoms[std::size_t(to)] == oxygen;
    }
  }
  return std::ranges::any_of(oxygens, [](int count) { return count >= 2; });
}

// Out of ten atoms, four are C, three N and three O on average. A fair coin chooses the answer.
static Example draw_atoms(const Rng& rng, std::size_t nodes) {
  constexpr double kDegree = 2;         // mean number of bonds of an atom
  constexpr std::uint32_t kDraws = 64;  // maximum draws until the wanted answer
  const std::int32_t wanted = std::int32_t((rng / "wanted").below(2, 0));
  Example example;
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    const Rng own = rng / "draw" / i;
    example.ids = random_tokens(own, nodes, 10);
    for (std::int32_t& x : example.ids) x = x < 4 ? carbon : x < 7 ? nitrogen : oxygen;
    example.edges = random_edges(own / "edges", nodes, kDegree);
    example.targets = {has_motif(example.ids, example.edges)};
    if (example.targets[0] == wanted) break;
  }
  return example;
}

extern const std::vector<TaskEntry> kGraphTasks = {
    synthetic_task(
        {.name = "neighbours",
         .summary = "For each node of a graph, find the smallest number on it and on nodes within "
                    "`hops` edges.",
         .options = length_options(
             12,
             {symbols_option(),
              {"hops", 1, "Each target is the smallest number within this many edges of the node.",
               1, 64}}),
         .needs = "The edges as an attention mask, one layer for each hop, and no positions.",
         .theory =
             "needs depth: with an adjacency mask, information moves one edge per layer (Gilmer "
             "et al. 2017, arXiv:1704.01212)",
         .source = "the message passing of Gilmer et al. 2017, arXiv:1704.01212"},
        [](const Options& options, Synthetic& task) {
          constexpr double kDegree = 2.5;  // mean number of neighbours
          const std::size_t symbols = get_size(options, "symbols");
          task.shape.vocabulary = task.shape.classes = symbols;
          task.shape.graph = true;
          draw_lengths(
              task, Lengths(options, 2),
              [symbols, hops = get_int(options, "hops")](const Rng& rng, std::size_t nodes) {
                Example example{.ids = random_tokens(rng, nodes, symbols)};
                example.edges = random_edges(rng / "edges", nodes, kDegree);
                example.targets = smallest_within(example.ids, example.edges, hops);
                return example;
              });
        }),
    // Resembles the toxicity of a molecule, which a group of its atoms decides.
    synthetic_task({.name = "motif",
                    .summary = "Say whether a graph of atoms has an N bound to at least two Os.",
                    .options = length_options(12),
                    .needs = "The edges as an attention mask, one layer or better two, no "
                             "positions, and pooling that can pick out a single node.",
                    .theory = "solvable: one layer with the edges as a mask counts the Os next to "
                              "each N, and pooling finds an N with two",
                    .source = "made for xgrad, after the toxicity of molecules"},
                   [](const Options& options, Synthetic& task) {
                     task.shape.output = OutputKind::sequence;
                     task.shape.token_names = {"C", "N", "O"};
                     task.shape.class_names = {"no", "yes"};
                     task.shape.graph = true;
                     draw_lengths(task, Lengths(options, 4), draw_atoms);
                   })};

}  // namespace xgrad

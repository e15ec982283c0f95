#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

namespace {

enum Atom : std::int32_t { carbon, nitrogen, oxygen };

constexpr double kDegree = 2;         // mean number of bonds of an atom
constexpr std::uint32_t kDraws = 64;  // maximum draws until the wanted answer

bool has_motif(const Tokens& atoms, const Edges& bonds) {
  std::vector<int> oxygens(atoms.size());  // oxygens bound to each atom
  for (const auto& [a, b] : bonds) {
    oxygens[std::size_t(a)] += atoms[std::size_t(b)] == oxygen;
    oxygens[std::size_t(b)] += atoms[std::size_t(a)] == oxygen;
  }
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    if (atoms[i] == nitrogen && oxygens[i] >= 2) return true;
  }
  return false;
}

// Out of ten atoms, four are C, three N and three O on average. A fair coin chooses the answer.
Example draw(const Rng& rng, std::size_t nodes) {
  const std::int32_t wanted = std::int32_t((rng / "wanted").below(2, 0));
  Example example;
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    const Rng own = rng / "draw" / i;
    example.ids.clear();
    for (std::int32_t x : random_tokens(own, nodes, 10)) {
      example.ids.push_back(x < 4 ? carbon : x < 7 ? nitrogen : oxygen);
    }
    example.edges = random_edges(own / "edges", nodes, kDegree);
    example.targets = {has_motif(example.ids, example.edges)};
    if (example.targets[0] == wanted) break;
  }
  return example;
}

Synthetic describe(const Options& options) {
  Synthetic task;
  task.shape.output = OutputKind::sequence;
  task.shape.token_names = {"C", "N", "O"};
  task.shape.class_names = {"no", "yes"};
  task.shape.graph = true;
  draw_lengths(task, Lengths(options, 4), draw);
  return task;
}

}  // namespace

// S4.4: resembles the toxicity of a molecule, which a group of its atoms decides.
TaskEntry motif_task() {
  return synthetic_task(
      {.name = "motif",
       .summary = "Say whether a graph of atoms has an N bound to at least two Os.",
       .options = length_options(12),
       .needs = "The edges as an attention mask, one layer or better two, no positions, and "
                "pooling that can pick out a single node.",
       .theory = "needs depth: one layer with the edges as a mask counts the neighbours, pooling "
                 "finds the atom",
       .source = "made for xgrad, after the toxicity of molecules"},
      describe);
}

}  // namespace xgrad

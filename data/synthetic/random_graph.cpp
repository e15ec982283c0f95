#include <xgrad/data/synthetic/random_graph.hpp>

#include <algorithm>

namespace xgrad {

Edges random_edges(const Rng& rng, std::size_t nodes, double degree) {
  constexpr std::size_t kAtOnce = 1024;
  const std::size_t pairs = nodes * (nodes - 1) / 2;
  std::vector<double> uniforms;
  Edges edges;
  edges.reserve(nodes * std::size_t(degree));
  std::size_t pair = 0;
  for (std::size_t a = 0; a < nodes; ++a) {
    for (std::size_t b = a + 1; b < nodes; ++b) {
      const std::size_t at = pair % kAtOnce;
      if (at == 0) uniforms = rng.uniforms(std::min(kAtOnce, pairs - pair), pair);
      if (uniforms[at] * double(nodes - 1) < degree) edges.emplace_back(a, b);
      ++pair;
    }
  }
  return edges;
}

}  // namespace xgrad

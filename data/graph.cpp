#include <xgrad/data/graph.hpp>

#include <algorithm>
#include <charconv>
#include <sstream>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/example_text.hpp>

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

std::string edges_text(const Edges& edges) {
  std::string text;
  for (const auto& [a, b] : edges) {
    text += (text.empty() ? "" : " ") + std::to_string(a) + "-" + std::to_string(b);
  }
  return text;
}

std::optional<Edges::value_type> parse_edge(const std::string& word) {
  Edges::value_type edge;
  const char* const end = word.data() + word.size();
  const auto [dash, error] = std::from_chars(word.data(), end, edge.first);
  if (error != std::errc() || dash == end || *dash != '-') return std::nullopt;
  const auto [stop, second] = std::from_chars(dash + 1, end, edge.second);
  if (second != std::errc() || stop != end) return std::nullopt;
  return edge;
}

Example parse_graph(const std::string& task, const std::string& line, const TaskShape& shape) {
  Example graph;
  std::string tokens;
  std::size_t count = 0;
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (const auto edge = parse_edge(word)) {
      graph.edges.push_back(*edge);
      continue;
    }
    ++count;
    check<DataError>(graph.edges.empty(), task, ": token ", count, " stands behind an edge");
    tokens += word + " ";
  }
  graph.ids = parse_tokens(task, tokens, shape);
  const auto is_bad = [&](const auto& edge) {
    const auto [least, most] = std::minmax(edge.first, edge.second);
    return least < 0 || least == most || std::size_t(most) >= graph.ids.size();
  };
  const auto bad = std::find_if(graph.edges.begin(), graph.edges.end(), is_bad);
  if (bad != graph.edges.end()) {
    detail::fail<DataError>(task, ": edge ", bad - graph.edges.begin() + 1, " is \"",
                            edges_text({*bad}), "\", must join two of the ", graph.ids.size(),
                            " tokens");
  }
  return graph;
}

}  // namespace xgrad

#include <xgrad/data/text/edges.hpp>

#include <charconv>

namespace xgrad {

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

}  // namespace xgrad

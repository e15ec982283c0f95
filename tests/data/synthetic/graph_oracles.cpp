// Those whose inputs are more than tokens: graphs, images, vectors.
#include <algorithm>
#include <cmath>
#include <map>

#include "data/synthetic/oracles.hpp"

namespace xgrad {

namespace {

bool are_joined(const Example& graph, std::int32_t a, std::int32_t b) {
  const auto has = [&](std::int32_t from, std::int32_t to) {
    return std::count(graph.edges.begin(), graph.edges.end(), std::pair(from, to)) > 0;
  };
  return has(a, b) || has(b, a);
}

// By the distances between all nodes (Floyd and Warshall).
Tokens smallest_within_reach(const Example& graph, const Options& options) {
  const auto n = std::int32_t(graph.ids.size());
  std::map<std::pair<std::int32_t, std::int32_t>, int> distance;
  for (std::int32_t a = 0; a < n; ++a) {
    for (std::int32_t b = 0; b < n; ++b) {
      distance[{a, b}] = a == b ? 0 : are_joined(graph, a, b) ? 1 : 1000;
    }
  }
  for (std::int32_t by = 0; by < n; ++by) {
    for (auto& [ends, d] : distance) {
      d = std::min(d, distance[{ends.first, by}] + distance[{by, ends.second}]);
    }
  }
  Tokens result = graph.ids;
  for (const auto& [ends, d] : distance) {
    auto& smallest = result[std::size_t(ends.first)];
    if (d <= get_int(options, "hops")) {
      smallest = std::min(smallest, graph.ids[std::size_t(ends.second)]);
    }
  }
  return result;
}

// Tries every three atoms.
Tokens has_o_n_o(const Example& graph, const Options&) {
  const auto n = std::int32_t(graph.ids.size());
  const auto is = [&](std::int32_t at, std::int32_t id) {
    return graph.ids[std::size_t(at)] == id;
  };
  for (std::int32_t middle = 0; middle < n; ++middle) {
    for (std::int32_t a = 0; a < n; ++a) {
      for (std::int32_t b = a + 1; b < n; ++b) {
        if (is(middle, 1) && is(a, 2) && is(b, 2) && are_joined(graph, a, middle) &&
            are_joined(graph, b, middle)) {
          return {1};
        }
      }
    }
  }
  return {0};
}

// By how many pixels are bright in each row from the first to the last that has any.
Tokens shape_of_rows(const Example& image, const Options& options) {
  const auto size = std::size_t(get_int(options, "size"));
  std::string counts;
  for (std::size_t row = 0; row < size; ++row) {
    int count = 0;
    for (std::size_t column = 0; column < size; ++column) {
      count += image.features[row * size + column] > 0.5f;
    }
    if (count > 0) counts += std::to_string(count);
  }
  const std::vector<std::string> known = {"52225", "11511", "22122", "12221"};
  return {std::int32_t(std::find(known.begin(), known.end(), counts) - known.begin())};
}

Options few(Options options) {
  options.insert({{"examples", 20000}, {"validation", 3000}, {"test", 3000}});
  return options;
}

}  // namespace

std::vector<OracleRow> other_rows() {
  return {
      {"anomaly",
       {{"vectors", 5}, {"features", 3}},
       few({{"vectors", 3}, {"features", 1}}),
       25000,
       "1 2 3 4",
       "the line has 4 numbers, expected vectors of 3"},
      {"motif",
       {{"min_length", 4}, {"length", 9}},
       few({{"length", 4}}),
       2000,
       "C N O 0-3",
       "edge 1 is \"0-3\", must join two of the 3 tokens",
       nullptr,
       has_o_n_o},
      {"neighbours",
       {{"min_length", 2}, {"length", 8}, {"symbols", 5}, {"hops", 2}},
       few({{"length", 4}, {"symbols", 4}}),
       8900,
       "3 4 0-1 4",
       "token 3 comes after an edge; write all tokens before the edges",
       nullptr,
       smallest_within_reach},
      {"shapes",
       {{"size", 8}},
       few({{"size", 5}}),
       25000,
       "0.1 0.2 x",
       "number 3 is \"x\", must be a finite number",
       nullptr,
       shape_of_rows},
  };
}

}  // namespace xgrad

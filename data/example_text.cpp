#include <xgrad/data/example_text.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/nearest.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/text/text.hpp>

namespace xgrad {

constexpr std::size_t kMostSuggested = 20;

static std::vector<std::int32_t> parse_names(const std::string& task, const std::string& line,
                                             const std::vector<std::string>& names) {
  std::vector<std::int32_t> ids;
  for (const std::string_view word : words(line)) {
    const auto found = std::find(names.begin(), names.end(), word);
    if (found == names.end()) {
      std::vector<std::string> known = nearest_first(std::string(word), names);
      const bool all = known.size() <= kMostSuggested;
      if (!all) known.resize(kMostSuggested);
      detail::fail<DataError>(task, ": token ", ids.size() + 1, " is ", excerpt(word),
                              ", must be one of: ", joined(known, " "), all ? "" : " ...");
    }
    ids.push_back(std::int32_t(found - names.begin()));
  }
  return ids;
}

template <class Value, class Name>
static std::string joined_by(const std::vector<Value>& values, const Name& name) {
  std::string text;
  for (const Value& value : values) text += (text.empty() ? "" : " ") + name(value);
  return text;
}

// The shortest text that reads back as the same number.
static std::string number_text(float x) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), x).ptr};
}

static std::string edges_text(const Edges& edges) {
  return joined_by(edges, [](const Edges::value_type& edge) {
    return std::to_string(edge.first) + "-" + std::to_string(edge.second);
  });
}

std::optional<Edges::value_type> parse_edge(std::string_view word) {
  const std::size_t dash = word.find('-', 1);  // a first dash is a sign
  if (dash == word.npos) return std::nullopt;
  const auto from = to_number<std::int32_t>(word.substr(0, dash));
  const auto to = to_number<std::int32_t>(word.substr(dash + 1));
  if (!from || !to) return std::nullopt;
  return Edges::value_type(*from, *to);
}

std::vector<std::int32_t> parse_numbers(const std::string& what, std::string_view line,
                                        std::int32_t largest) {
  std::vector<std::int32_t> numbers;
  for (const std::string_view word : words(line)) {
    const auto number = to_number<std::int32_t>(word);
    check<DataError>(number && *number >= 0 && *number <= largest, what, " ", numbers.size() + 1,
                     " is ", excerpt(word), ", must be a whole number from 0 to ", largest);
    numbers.push_back(*number);
  }
  return numbers;
}

std::vector<std::int32_t> parse_tokens(const std::string& task, const std::string& line,
                                       const TaskShape& shape) {
  auto ids = shape.token_names.empty()
                 ? parse_numbers(task + ": token", line, std::int32_t(shape.vocabulary - 1))
                 : parse_names(task, line, shape.token_names);
  check<DataError>(!ids.empty(), task, ": the line has no tokens");
  check<DataError>(ids.size() <= shape.max_length, task, ": the line has ", ids.size(),
                   " tokens, must have at most ", shape.max_length);
  return ids;
}

template <class T>
std::vector<T> parse_vectors(const std::string& task, const std::string& line,
                             std::size_t features) {
  std::vector<T> numbers;
  for (std::string_view word : words(line)) {
    const bool comma = word.back() == ',';
    if (comma) word.remove_suffix(1);
    const auto number = to_number<T>(word);
    check<DataError>(number.has_value(), task, ": number ", numbers.size() + 1, " is ",
                     excerpt(word), ", must be a finite number");
    numbers.push_back(*number);
    check<DataError>(!comma || numbers.size() % features == 0, task, ": the comma after number ",
                     numbers.size(), " ends a vector that must have ", features, " numbers");
  }
  check<DataError>(!numbers.empty(), task, ": the line has no numbers");
  check<DataError>(numbers.size() % features == 0, task, ": the line has ", numbers.size(),
                   " numbers, expected vectors of ", features);
  return numbers;
}

template std::vector<float> parse_vectors(const std::string&, const std::string&, std::size_t);
template std::vector<double> parse_vectors(const std::string&, const std::string&, std::size_t);

Example parse_graph(const std::string& task, const std::string& line, const TaskShape& shape) {
  Example graph;
  std::string tokens;
  std::size_t count = 0;
  for (const std::string_view word : words(line)) {
    if (const auto edge = parse_edge(word)) {
      graph.edges.push_back(*edge);
      continue;
    }
    ++count;
    check<DataError>(graph.edges.empty(), task, ": token ", count,
                     " comes after an edge; write all tokens before the edges");
    (tokens += word) += ' ';
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

std::string input_text(const Example& example, const TaskShape& shape) {
  if (shape.input == InputKind::image) {
    return "an image of " + std::to_string(shape.height) + " x " + std::to_string(shape.width);
  }
  if (shape.input == InputKind::vectors) {
    std::string text;
    for (std::size_t i = 0; i < example.features.size(); ++i) {
      if (i > 0) text += shape.features > 1 && i % shape.features == 0 ? ", " : " ";
      text += number_text(example.features[i]);
    }
    return text;
  }
  const std::string tokens = joined_by(example.ids, [&](std::int32_t id) {
    return shape.token_names.empty() ? std::to_string(id) : shape.token_names[std::size_t(id)];
  });
  return example.edges.empty() ? tokens : tokens + " " + edges_text(example.edges);
}

std::size_t unknown_tokens(const Example& example, const TaskShape& shape) {
  if (shape.token_names.empty() || shape.token_names[kUnknownId] != kUnknown) return 0;
  return std::size_t(std::count(example.ids.begin(), example.ids.end(), kUnknownId));
}

std::string target_text(const Example& example, const TaskShape& shape) {
  if (shape.target == TargetKind::classes) {
    return joined_by(example.targets, [&](std::int32_t id) { return class_text(id, shape); });
  }
  std::size_t i = 0;
  return joined_by(example.values, [&](float x) -> std::string {
    const std::size_t number = i++ % shape.classes;
    if (std::isnan(x)) return ".";
    return shape.target == TargetKind::binary ? answer_text(x > 0.5f, number, shape)
                                              : number_text(x);
  });
}

std::string class_text(std::int32_t id, const TaskShape& shape) {
  if (id == kIgnore) return ".";
  return shape.class_names.empty() ? std::to_string(id) : shape.class_names[std::size_t(id)];
}

std::string answer_text(bool yes, std::size_t number, const TaskShape& shape) {
  if (shape.class_names.empty()) return yes ? "1" : "0";
  return yes ? shape.class_names[number] : "-";
}

}  // namespace xgrad

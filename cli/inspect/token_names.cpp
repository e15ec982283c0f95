#include <xgrad/cli/inspect/token_names.hpp>

#include <sstream>

#include <xgrad/data/text/example_text.hpp>

namespace xgrad::commands {

std::vector<std::string> token_names(const Example& example, const TaskShape& shape,
                                     std::size_t rows) {
  Example tokens;  // without edges, which have no rows
  tokens.ids = example.ids;
  std::vector<std::string> names;
  std::istringstream words(shape.input == InputKind::tokens ? input_text(tokens, shape) : "");
  for (std::string word; words >> word;) names.push_back(word);
  if (names.size() + 1 == rows) names.insert(names.begin(), "[class]");
  return names;
}

MapNames map_names(const AttentionMap& map, const Example& example, const TaskShape& shape) {
  const auto inputs = token_names(example, shape, map.probabilities.shape()[3]);
  if (shape.output != OutputKind::generated || !map.path.starts_with("decoder.")) {
    return {inputs, inputs};
  }
  MapNames names{{}, inputs};
  for (const std::int32_t c : example.targets) names.rows.push_back(class_text(c, shape));
  if (map.path.ends_with("self_attn")) {
    names.columns = names.rows;
    names.columns.insert(names.columns.begin(), "[begin]");
    names.columns.pop_back();
  }
  return names;
}

}  // namespace xgrad::commands

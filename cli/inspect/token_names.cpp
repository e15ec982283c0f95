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

}  // namespace xgrad::commands

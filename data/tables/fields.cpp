#include <xgrad/data/tables/row_coder.hpp>

#include <algorithm>
#include <set>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/example_text.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/text/text.hpp>

namespace xgrad {

static std::string whole_text(double x) {
  return std::to_string(static_cast<long long>(x));
}

/// Returns the words of a text, list or numbers. `made` receives text that must be created.
static std::vector<std::string_view> word_texts(const std::string& place, const char* what,
                                                const Field& field, std::string& made) {
  if (const auto* text = std::get_if<std::string>(&field)) return words(*text);
  std::vector<std::string_view> texts;
  if (const auto* list = std::get_if<std::vector<std::string>>(&field)) {
    for (const std::string& word : *list) {
      texts.emplace_back(word);
      check<DataError>(words(word) == std::vector{texts.back()}, place, ": ", what, " ",
                       texts.size(), " is ", excerpt(word), ", must be a word without white space");
    }
    return texts;
  }
  const FieldNumbers& numbers = std::get<FieldNumbers>(field);
  check<DataError>(numbers.whole && numbers.features == 1, place, ": holds ",
                   numbers.whole ? "lists of numbers" : "numbers that are not whole",
                   ", must be words or whole numbers");
  made.clear();
  for (const double x : numbers.values) made += whole_text(x) + ' ';
  return words(made);
}

/// Turns words without "_" into tokens of TokenKind::word_pairs, as views into `made`, which
/// receives the words joined by "_".
static std::vector<std::string_view> with_pairs(const std::vector<std::string_view>& words,
                                                std::string& made) {
  std::string joined;
  for (const std::string_view word : words) (joined += word) += '_';
  made = std::move(joined);
  std::vector<std::string_view> texts;
  const std::string_view all = made;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t size = words[i].size();
    texts.push_back(all.substr(begin, size));
    if (i + 1 < words.size()) texts.push_back(all.substr(begin, size + 1 + words[i + 1].size()));
    begin += size + 1;
  }
  return texts;
}

std::vector<std::string_view> token_texts(const std::string& place, const Field& field,
                                          TokenKind kind, std::string& made) {
  if (kind == TokenKind::words) {
    std::vector<std::string_view> texts = word_texts(place, "word", field, made);
    check<DataError>(!texts.empty(), place, ": has no words");
    return texts;
  }
  const auto* text = std::get_if<std::string>(&field);
  if (text == nullptr) {
    detail::fail<DataError>(place, ": must be text, since task.tokens is \"",
                            kTokenKinds[std::size_t(kind)], "\"");
  }
  if (kind == TokenKind::plain_words || kind == TokenKind::word_pairs) {
    made = plain_text(*text);
    std::vector<std::string_view> texts = words(made);
    check<DataError>(!texts.empty(), place, ": has no words");
    return kind == TokenKind::word_pairs ? with_pairs(texts, made) : texts;
  }
  check<DataError>(!text->empty(), place, ": has no characters");
  return xgrad::characters(*text);
}

std::string sequence_label(const std::string& place, const Field& field) {
  if (const auto* numbers = std::get_if<FieldNumbers>(&field)) {
    check<DataError>(numbers->values.size() == 1, place, ": has ", numbers->values.size(),
                     " numbers, must have one label");
    check<DataError>(numbers->whole, place, ": is ", numbers->values[0],
                     ", must be a whole number or text to be a class");
    return whole_text(numbers->values[0]);
  }
  const auto* text = std::get_if<std::string>(&field);
  check<DataError>(text != nullptr, place, ": is a list, must be one label");
  check<DataError>(!text->empty(), place, ": the label is empty");
  const auto space = [](char c) { return words(std::string(1, c)).empty(); };
  check<DataError>(!space(text->front()) && !space(text->back()), place, ": the label is ",
                   excerpt(*text), ", must not begin or end with white space");
  return *text;
}

std::vector<Answer> token_labels(const std::string& place, const Field& field, std::size_t count) {
  std::string made;
  std::vector<Answer> labels;
  for (const std::string_view name : word_texts(place, "label", field, made)) {
    labels.push_back({std::string(name), true});
  }
  check<DataError>(labels.size() == count, place, ": has ", labels.size(), " labels for ", count,
                   " tokens");
  return labels;
}

std::vector<Answer> field_answers(const std::string& place, const Field& field) {
  std::vector<Answer> answers;
  if (const auto* numbers = std::get_if<FieldNumbers>(&field)) {
    check<DataError>(numbers->features == 1, place, ": holds lists of numbers, must be one list");
    for (const double x : numbers->values) {
      check<DataError>(x == 0 || x == 1, place, ": answer ", answers.size(), " is ", x,
                       ", must be 0 or 1; write labels that are numbers as text");
      answers.push_back({std::to_string(answers.size()), x == 1});
    }
    return answers;
  }
  std::set<std::string_view> seen;
  std::string made;
  for (const std::string_view name : word_texts(place, "label", field, made)) {
    check<DataError>(seen.insert(name).second, place, ": the label ", excerpt(name),
                     " appears twice");
    answers.push_back({std::string(name), true});
  }
  return answers;
}

FieldNumbers field_numbers(const std::string& place, const Field& field) {
  if (const auto* numbers = std::get_if<FieldNumbers>(&field)) {
    check<DataError>(!numbers->values.empty(), place, ": has no numbers");
    return *numbers;
  }
  const auto* text = std::get_if<std::string>(&field);
  check<DataError>(text != nullptr, place, ": is a list of texts, must be numbers");
  FieldNumbers numbers{0, 1, {}, false};
  for (const std::string_view word : words(*text)) {
    const auto value = to_number(word);
    check<DataError>(value.has_value(), place, ": ", excerpt(word), " is not a finite number");
    numbers.values.push_back(*value);
  }
  numbers.tokens = numbers.values.size();
  check<DataError>(numbers.tokens > 0, place, ": has no numbers");
  return numbers;
}

Edges field_edges(const std::string& place, const Field& field, std::int32_t nodes) {
  std::vector<double> ends;  // two for each edge
  if (const auto* numbers = std::get_if<FieldNumbers>(&field)) {
    check<DataError>(numbers->values.empty() || (numbers->whole && numbers->features == 2), place,
                     ": must be a list of pairs of nodes, as [[0, 1], [1, 2]]");
    ends = numbers->values;
  } else {
    const auto* text = std::get_if<std::string>(&field);
    check<DataError>(text != nullptr, place,
                     ": is a list of texts, must be a list of pairs or text");
    for (const std::string_view word : words(*text)) {
      const auto edge = parse_edge(word);
      check<DataError>(edge.has_value(), place, ": edge ", ends.size() / 2 + 1, " is ",
                       excerpt(word), ", must be two nodes with \"-\" between them, as 0-1");
      ends.insert(ends.end(), {double(edge->first), double(edge->second)});
    }
  }
  Edges edges;
  for (std::size_t i = 0; i < ends.size(); i += 2) {
    for (const double node : {ends[i], ends[i + 1]}) {
      check<DataError>(node >= 0 && node < nodes, place, ": edge ", i / 2 + 1, " has node ", node,
                       ", must be from 0 to ", nodes - 1);
    }
    edges.emplace_back(std::int32_t(ends[i]), std::int32_t(ends[i + 1]));
  }
  return edges;
}

std::string key_of(const Field& field) {
  if (const auto* text = std::get_if<std::string>(&field)) return *text;
  std::string key;
  if (const auto* list = std::get_if<std::vector<std::string>>(&field)) {
    for (const std::string& word : *list) key += word + '\0';
    return key;
  }
  const std::vector<double>& values = std::get<FieldNumbers>(field).values;
  key.assign(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  return key;
}

}  // namespace xgrad

#include <xgrad/data/tables/row_coder.hpp>

#include <algorithm>
#include <cmath>
#include <deque>
#include <span>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/example_text.hpp>
#include <xgrad/data/tables/table.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/text/text.hpp>

namespace xgrad {

/// Returns a visible name for a token, without spaces.
static std::string token_name(const std::string& token) {
  if (token == " ") return "\u2423";
  if (token.size() == 1 && words(token).empty()) return "\\x" + std::to_string(int(token[0]));
  return token;
}

static Index<std::string> index_of(const std::vector<std::string>& names) {
  Index<std::string> index;
  for (const std::string& name : names) index.add(name);
  return index;
}

static Field lowercased(Field field) {
  if (auto* text = std::get_if<std::string>(&field)) *text = lowercase(*text);
  if (auto* list = std::get_if<std::vector<std::string>>(&field)) {
    for (std::string& text : *list) text = lowercase(text);
  }
  return field;
}

/// Appends numbers, standardised by means and deviations of the training rows, one for each feature
/// or number; `place(i)` locates a number in messages.
template <class Place>
static void append_scaled(std::span<const double> numbers, const std::vector<double>& means,
                          const std::vector<double>& deviations, const Place& place,
                          std::vector<float>& scaled) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double mean = means[i % means.size()], deviation = deviations[i % means.size()];
    scaled.push_back(float((numbers[i] - mean) / deviation));
    if (std::isfinite(scaled.back())) continue;
    detail::fail<DataError>(place(i), ": ", numbers[i],
                            " is too large for float after it is standardised by the "
                            "training rows' mean, ",
                            mean, ", and deviation, ", deviation);
  }
}

/// Splits a line into characters, with each `<mask>` as one character.
static std::vector<std::string_view> with_masks(std::string_view line, bool lower,
                                                std::deque<std::string>& made) {
  constexpr std::string_view kMaskText = kMask;
  std::vector<std::string_view> texts;
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t end = std::min(line.find(kMaskText, begin), line.size());
    std::string_view plain = line.substr(begin, end - begin);
    if (lower) plain = made.emplace_back(lowercase(plain));
    const auto letters = characters(plain);
    texts.insert(texts.end(), letters.begin(), letters.end());
    if (end < line.size()) texts.push_back(kMaskText);
    begin = end + (end < line.size() ? kMaskText.size() : 0);
  }
  return texts;
}

std::vector<std::string> RowOptions::columns() const {
  std::vector<std::string> names = inputs;
  if (labels != Labels::masked && labels != Labels::next) names.push_back(target);
  if (!edges.empty()) names.push_back(edges);
  return names;
}

RowCoder::RowCoder(std::string task, RowOptions options)
    : task_(std::move(task)), options_(std::move(options)) {}

std::vector<std::string_view> RowCoder::tokens(const std::string& place, const Field& field,
                                               Made& made) const {
  if (!options_.lowercase) return token_texts(place, field, options_.tokens, made.text);
  made.field = lowercased(field);
  return token_texts(place, made.field, options_.tokens, made.text);
}

std::string RowCoder::key(const Table& table, std::size_t row) const {
  std::string key;
  for (std::size_t i = 0; i < options_.inputs.size(); ++i) {
    const Field& field = table.rows[row][i];
    key += options_.lowercase ? key_of(lowercased(field)) : key_of(field);
  }
  if (!options_.edges.empty()) key += key_of(table.rows[row].back());
  return key;
}

FieldNumbers RowCoder::numbers(const Table& table, std::size_t row) const {
  if (options_.inputs.size() == 1) return field_numbers(table.place(row, 0), table.rows[row][0]);
  FieldNumbers all{options_.inputs.size(), 1, {}, false};
  for (std::size_t column = 0; column < options_.inputs.size(); ++column) {
    const FieldNumbers one = field_numbers(table.place(row, column), table.rows[row][column]);
    check<DataError>(one.values.size() == 1, table.place(row, column), ": has ", one.values.size(),
                     " numbers, must have one, since there are several columns");
    all.values.push_back(one.values[0]);
  }
  return all;
}

// The token with the id 1, which no text contains; null: there is none.
const char* RowCoder::special() const {
  return masked() ? kMask : next() ? kEnd : nullptr;
}

std::size_t RowCoder::least_classes() const {
  if (!has_target() || options_.labels == Labels::numbers) return 0;
  return options_.labels == Labels::multi_label ? 1 : 2;
}

std::vector<Answer> RowCoder::labels(const Table& table, std::size_t row,
                                     std::size_t tokens) const {
  const std::string place = table.place(row, target_column());
  const Field& field = table.rows[row][target_column()];
  if (options_.labels == Labels::multi_label) return field_answers(place, field);
  if (options_.labels == Labels::sequence) return {{sequence_label(place, field), true}};
  return token_labels(place, field, tokens);
}

void RowCoder::adopt(VocabularyAndScales learned) {
  const std::size_t classes = learned.classes.size(), least = least_classes();
  const bool fits =
      learned.max_length > 0 && (learned.features > 0) == vectors() &&
      learned.tokens.empty() == vectors() && classes >= least && (classes > 0) == (least > 0) &&
      learned.target_mean.empty() == (options_.labels != Labels::numbers) &&
      (special() == nullptr || (learned.tokens.size() > 1 && learned.tokens[1] == special()));
  check<CheckpointError>(
      fits, task_,
      ": the vocabularies and scales learned from files do not fit the task's options");
  learned_ = std::make_unique<const VocabularyAndScales>(std::move(learned));
  token_ids_ = index_of(learned_->tokens);
  class_ids_ = index_of(learned_->classes);
}

TaskShape RowCoder::shape() const {
  TaskShape shape;
  shape.input = vectors() ? InputKind::vectors : InputKind::tokens;
  shape.output = options_.labels == Labels::tokens || !has_target() ? OutputKind::tokens
                                                                    : OutputKind::sequence;
  shape.target = options_.labels == Labels::numbers       ? TargetKind::numbers
                 : options_.labels == Labels::multi_label ? TargetKind::binary
                                                          : TargetKind::classes;
  shape.vocabulary = learned_->tokens.size();
  shape.features = learned_->features;
  shape.graph = !options_.edges.empty();
  shape.max_length = learned_->max_length;
  for (const std::string& token : learned_->tokens) shape.token_names.push_back(token_name(token));
  shape.class_names = has_target() ? learned_->classes : shape.token_names;
  if (next()) {
    shape.next = options_.tokens == TokenKind::characters ? NextToken::character : NextToken::word;
  }
  shape.input_mean = learned_->mean;
  shape.input_deviation = learned_->deviation;
  shape.value_mean = learned_->target_mean;
  shape.value_deviation = learned_->target_deviation;
  shape.classes =
      options_.labels == Labels::numbers ? learned_->target_mean.size() : shape.class_names.size();
  return shape;
}

void RowCoder::check_length(const std::string& place, std::size_t count) const {
  check<DataError>(options_.cut || count <= learned_->max_length, place, ": has ", count,
                   " tokens, must have at most ", learned_->max_length,
                   "; set task.max_length, or task.longer to \"cut\"");
}

void RowCoder::add_tokens(const std::string& place, const std::vector<std::string_view>& texts,
                          Example& example) const {
  check_length(place, texts.size() + next());  // kEnd takes a place
  const std::size_t count = next() ? texts.size() : std::min(texts.size(), learned_->max_length);
  example.ids.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t found = token_ids_.find(texts[i]);
    example.ids.push_back(found == Index<std::string>::kNone ? kUnknownId : std::int32_t(found));
  }
}

void RowCoder::add_vectors(const Places& place, const FieldNumbers& numbers,
                           Example& example) const {
  const std::size_t features = learned_->features;
  check<DataError>(numbers.features == features, place(0), ": its vectors have ", numbers.features,
                   " numbers, those of the training rows have ", features);
  check_length(place(0), numbers.tokens);
  const std::size_t count = std::min(numbers.tokens, learned_->max_length) * features;
  append_scaled(std::span(numbers.values).first(count), learned_->mean, learned_->deviation, place,
                example.features);
}

std::int32_t RowCoder::class_of(const std::string& place, const std::string& name) const {
  std::uint32_t found = class_ids_.find(name);
  if (found == Index<std::string>::kNone) found = class_ids_.find(options_.other);
  if (found == Index<std::string>::kNone) {
    std::vector<std::string> known;
    for (const std::string& one : learned_->classes) known.push_back(excerpt(one));
    detail::fail<DataError>(place, ": the label ", excerpt(name),
                            " does not occur in the training rows; these have ",
                            few(known, ", ", 4));
  }
  return std::int32_t(found);
}

void RowCoder::add_target(const Table& table, std::size_t row, std::size_t tokens,
                          Example& example) const {
  const std::string place = table.place(row, target_column());
  const Field& field = table.rows[row][target_column()];
  if (options_.labels == Labels::numbers) {
    const FieldNumbers values = field_numbers(place, field);
    const std::size_t expected = learned_->target_mean.size();
    check<DataError>(values.values.size() == expected, place, ": has ", values.values.size(),
                     " numbers, the training rows have ", expected);
    return append_scaled(
        std::span(values.values), learned_->target_mean, learned_->target_deviation,
        [&](std::size_t) { return place; }, example.values);
  }
  const bool several = options_.labels == Labels::multi_label;
  const std::size_t count = learned_->classes.size();
  if (several) example.values.assign(count, 0);
  const std::vector<Answer> answers = labels(table, row, tokens);
  for (const Answer& answer : answers) {
    const std::int32_t id = class_of(place, answer.name);
    if (several) {
      example.values[std::size_t(id)] = answer.holds;
    } else {
      example.targets.push_back(id);
    }
  }
  check<DataError>(!several || !std::holds_alternative<FieldNumbers>(field) || answers.empty() ||
                       answers.size() == count,
                   place, ": has ", answers.size(), " answers, the training rows have ", count);
  if (options_.labels == Labels::tokens) {
    example.targets.resize(std::min(tokens, learned_->max_length));
  }
}

std::int32_t RowCoder::nodes(const Example& example) const {
  return std::int32_t(vectors() ? example.features.size() / learned_->features
                                : example.ids.size());
}

/// Adds the input of a row. Returns the number of tokens before any cut.
std::size_t RowCoder::add_input(const Table& table, std::size_t row, Example& example) const {
  std::size_t count = 0;
  if (vectors()) {
    const bool columns = options_.inputs.size() > 1;
    const FieldNumbers values = numbers(table, row);
    count = values.tokens;
    add_vectors([&](std::size_t i) { return table.place(row, columns ? i : 0); }, values, example);
  } else {
    const std::string place = table.place(row, 0);
    Made made;
    const auto texts = tokens(place, table.rows[row][0], made);
    count = texts.size();
    add_tokens(place, texts, example);
  }
  if (!options_.edges.empty()) {
    const std::size_t column = table.rows[row].size() - 1;
    example.edges = field_edges(table.place(row, column), table.rows[row][column], nodes(example));
  }
  return count;
}

std::vector<Example> RowCoder::encode(const Table& table, std::size_t row) const {
  Example example;
  const std::size_t count = add_input(table, row, example);
  if (has_target()) add_target(table, row, count, example);
  if (!next()) return {std::move(example)};
  // Examples of up to max_length tokens whose targets are the tokens that follow.
  std::vector<std::int32_t>& all = example.ids;
  all.insert(all.begin(), kEndId);
  all.push_back(kEndId);
  std::vector<Example> examples;
  const std::size_t targets = all.size() - 1, longest = learned_->max_length;
  for (std::size_t begin = 0; begin < targets; begin += longest) {
    const auto from = all.begin() + std::ptrdiff_t(begin);
    const auto size = std::ptrdiff_t(std::min(longest, targets - begin));
    examples.push_back({.ids = {from, from + size}, .targets = {from + 1, from + 1 + size}});
  }
  return examples;
}

Example RowCoder::parse(const std::string& line) const {
  check_text(task_, line);
  if (next()) return parse_beginning(line);
  if (options_.edges.empty()) return parse_nodes(line);
  const std::size_t first = line.find_first_not_of(" \t");
  if (first != line.npos && line[first] == '{') {
    Table table{.file = task_, .columns = options_.inputs};
    table.columns.push_back(options_.edges);
    table.rows.push_back(read_json_row(task_, line, table.columns));
    Example example;
    add_input(table, 0, example);
    return example;
  }
  const std::size_t tab = line.find('\t');
  check<DataError>(tab != line.npos, task_,
                   ": the line has no tab, which must separate nodes and edges");
  Example example = parse_nodes(line.substr(0, tab));
  const std::string place = task_ + ": column \"" + options_.edges + "\"";
  example.edges = field_edges(place, line.substr(tab + 1), nodes(example));
  return example;
}

Example RowCoder::parse_nodes(const std::string& line) const {
  Example example;
  if (vectors()) {
    const std::size_t features = learned_->features;
    std::vector<double> values = parse_vectors<double>(task_, line, features);
    const std::size_t count = values.size() / features;
    add_vectors([&](std::size_t) { return task_; }, {count, features, std::move(values), false},
                example);
    return example;
  }
  const Field field(line);
  Made made;
  std::deque<std::string> parts;
  const bool letters = masked() && options_.tokens == TokenKind::characters;
  check<DataError>(!letters || !line.empty(), task_, ": has no characters");
  add_tokens(task_,
             letters ? with_masks(line, options_.lowercase, parts) : tokens(task_, field, made),
             example);
  if (!masked()) return example;
  for (const std::int32_t id : example.ids) {
    // Only hidden tokens have a target to predict.
    example.targets.push_back(id == kMaskId ? 0 : kIgnore);
  }
  return example;
}

Example RowCoder::parse_beginning(const std::string& line) const {
  const Field field(line);
  Made made;
  Example example{.ids = {kEndId}};
  if (line.empty()) return example;
  for (const std::string_view text : tokens(task_, field, made)) {
    const std::uint32_t found = token_ids_.find(text);
    check<DataError>(found != Index<std::string>::kNone, task_, ": the ",
                     options_.tokens == TokenKind::characters ? "character " : "word ",
                     excerpt(std::string(text)), " is not in the vocabulary of the training rows");
    example.ids.push_back(std::int32_t(found));
  }
  return example;
}

}  // namespace xgrad

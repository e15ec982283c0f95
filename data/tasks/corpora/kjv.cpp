// The King James Bible, 31,102 verses of 66 books, as printed by the program `bible` of Debian's
// package bible-kjv. The text of 1611 is in the public domain; the program, which xgrad only runs,
// is under the GPL.
#include <array>
#include <cctype>
#include <cstdio>
#include <memory>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/rules/baseline.hpp>
#include <xgrad/data/tables/row_task.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/text/text.hpp>

namespace xgrad {

constexpr const char* kProgram = "/usr/bin/bible";
constexpr const char* kCommand = "/usr/bin/bible -f 'gen1:1-rev22:21' </dev/null 2>/dev/null";

static std::string print_verses() {
  check_exists(kProgram, "bible-kjv");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(kCommand, "r"), ::pclose);
  check<DataError>(pipe != nullptr, kProgram, ": cannot be run");
  std::string text;
  std::array<char, 65536> buffer;
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) {
    text.append(buffer.data(), count);
  }
  return text;
}

/// Parses a verse, "Ge1:1 In the beginning ...": book, chapter and verse, and text.
static void add_verse(const std::string& place, const std::string& line, bool book, Table& table) {
  const std::size_t space = line.find(' '), colon = line.find(':');
  std::size_t end = std::min(colon, line.size());
  while (end > 0 && std::isdigit(static_cast<unsigned char>(line[end - 1]))) --end;
  check<DataError>(space != std::string::npos && colon < space && end > 0 && end < colon &&
                       space + 1 < line.size(),
                   place, ": is not a verse such as \"Ge1:1 In the beginning\": ", excerpt(line));
  table.rows.push_back({line.substr(space + 1)});
  if (book) table.rows.back().emplace_back(line.substr(0, end));
}

static Table read(const std::string& path, bool book) {
  const std::string text = path.empty() ? print_verses() : read_bytes(path);
  Table table{.file = path.empty() ? kProgram : path, .columns = {"verse", "book"}};
  table.fingerprint = stable_hash(text);
  for_each_line(text, [&](std::string_view line, std::size_t number) {
    add_verse(table.file + ": line " + std::to_string(number), std::string(line), book, table);
  });
  check<DataError>(!table.rows.empty(), table.file, ": has no verses");
  return table;
}

static std::unique_ptr<Task> make(const Options& options, std::uint64_t seed) {
  const std::string predict = get_string(options, "predict");
  const bool book = predict == "book";
  RowSource source;
  source.task = "kjv";
  const std::string path = get_string(options, "path");
  source.files = {path.empty() ? kProgram : path};
  source.read = [path, book](Split) { return rows_of(read(path, book)); };
  if (predict == "masked") {
    source.rules = [](const Dataset& train, const Dataset& test) {
      return std::vector{window_rule("counts in windows of up to 3 characters", train, test, 1),
                         window_rule("counts in windows of up to 9 characters", train, test, 4)};
    };
  }
  return row_task(std::move(source),
                  {.inputs = {"verse"},
                   .target = "book",
                   .tokens = book ? named<TokenKind>(kTokenKinds, get_string(options, "tokens"))
                                  : TokenKind::characters,
                   .labels = book                ? Labels::sequence
                             : predict == "next" ? Labels::next
                                                 : Labels::masked,
                   .min_count = book ? get_size(options, "min_count") : 1,
                   .max_length = get_size(options, "max_length"),
                   .cut = true,
                   .masked = get_double(options, "masked")},
                  seed);
}

TaskEntry kjv_task() {
  return {
      .name = "kjv",
      .summary =
          "Find hidden characters in a verse of the King James Bible, write verses, or name the "
          "book that a verse is from.",
      .options =
          {file_option("path",
                       "File with the output of `bible -f gen1:1-rev22:21`; empty: xgrad runs that "
                       "program."),
           {.name = "predict",
            .fallback = "masked",
            .help = "Target: hidden characters of a verse (masked), each character from "
                    "those before it (next), or the book a verse is from (book).",
            .choices = {"masked", "next", "book"}},
           {.name = "tokens",
            .fallback = "plain_words",
            .help = "With predict = book: kind of token. plain_words: a word; word_pairs: words "
                    "and, after each, a token for its pair with the next word.",
            .choices = {"plain_words", "word_pairs"}},
           {"masked", 0.15, "With predict = masked: fraction of the characters to hide.", above(0),
            below(1)},
           {"max_length", 128,
            "Maximum characters (masked) or tokens (book) of a verse; the rest is cut off. With "
            "predict = next: tokens in an example; longer verses become several examples.",
            1, 65536},
           {"min_count", 2,
            "With predict = book: minimum count in the training rows; rarer tokens become <unk>.",
            1, 1e9}},
      .debian_packages = {"bible-kjv"},
      .make = make,
      .needs =
          "Hidden characters need positions and two layers, because they depend on both sides of a "
          "gap. Next characters also need a causal mask. Books need no layer, because single words "
          "reveal them.",
      .theory = "open: no theorem is known",
      .source = "the King James Bible, as in Debian's bible-kjv",
      .best = "unknown, because nobody knows the distribution of the verses"};
}

}  // namespace xgrad

// Words of seven languages, from Debian's word lists in /usr/share/dict, with 86,000 to 431,000
// words each. Free to use, copy, modify and distribute under the terms in
// /usr/share/doc/PACKAGE/copyright of each package.
#include <algorithm>
#include <array>
#include <filesystem>
#include <unordered_map>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/tables/row_task.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/text/text.hpp>

namespace xgrad {

namespace {

struct Language {
  const char* name;
  const char* file;  // file name
  const char* package;
};
constexpr std::array<Language, 7> kLanguages = {{{"dutch", "dutch", "wdutch"},
                                                 {"english", "american-english", "wamerican"},
                                                 {"french", "french", "wfrench"},
                                                 {"german", "ngerman", "wngerman"},
                                                 {"italian", "italian", "witalian"},
                                                 {"portuguese", "portuguese", "wportuguese"},
                                                 {"spanish", "spanish", "wspanish"}}};

constexpr std::size_t kSeveral = kLanguages.size();  // marks words of several languages
// Key of the hash that draws words, which is independent of the hash that splits them.
constexpr std::uint64_t kDraw = 1;

/// Whether a line has letters only: no apostrophe, hyphen, full stop or digit.
bool is_word(std::string_view line) {
  return !line.empty() && std::all_of(line.begin(), line.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c & 0x80) != 0;
  });
}

using Owners = std::unordered_map<std::string, std::size_t>;  // language of each word

/// Adds the words of a list in lower case. Returns a hash of the file.
std::uint64_t add_list(const std::string& folder, std::size_t language, Owners& owners) {
  const std::string path = (std::filesystem::path(folder) / kLanguages[language].file).string();
  const std::string bytes = read_bytes(path, kLanguages[language].package);
  const std::size_t wrong = invalid_utf8(bytes);
  check<DataError>(wrong == std::string::npos, path, ": byte ", wrong + 1, " is not UTF-8");
  for_each_line(bytes, [&](std::string_view line, std::size_t) {
    std::string word = lowercase(line);
    if (!is_word(word)) return;
    const auto [place, is_new] = owners.try_emplace(std::move(word), language);
    if (!is_new && place->second != language) place->second = kSeveral;
  });
  return stable_hash(bytes);
}

Table read(const std::string& folder, std::size_t most) {
  Table table{.file = folder, .columns = {"word", "language"}};
  Owners owners;
  for (std::size_t language = 0; language < kLanguages.size(); ++language) {
    const std::uint64_t hash = add_list(folder, language, owners);
    table.fingerprint = stable_hash(std::to_string(hash), table.fingerprint);
  }
  std::array<std::vector<std::pair<std::uint64_t, std::string>>, kLanguages.size()> lists;
  while (!owners.empty()) {
    auto node = owners.extract(owners.begin());
    if (node.mapped() == kSeveral) continue;
    const std::uint64_t hash = stable_hash(node.key(), kDraw);
    lists[node.mapped()].emplace_back(hash, std::move(node.key()));
  }
  for (const auto& list : lists) most = std::min(most, list.size());
  for (std::size_t language = 0; language < lists.size(); ++language) {
    std::sort(lists[language].begin(), lists[language].end());
    for (std::size_t i = 0; i < most; ++i) {
      table.rows.push_back({lists[language][i].second, std::string(kLanguages[language].name)});
    }
  }
  check<DataError>(!table.rows.empty(), folder, ": every word of one list is also in another list");
  return table;
}

std::unique_ptr<Task> make(const Options& options, std::uint64_t seed) {
  const std::string path = get_string(options, "path");
  const auto rows = [path, words = get_size(options, "words")](Split) {
    return rows_of(read(path, words));
  };
  return row_task({.task = "languages", .read = rows, .files = {path}},
                  {.inputs = {"word"},
                   .target = "language",
                   .tokens = TokenKind::characters,
                   .max_length = get_size(options, "max_length"),
                   .cut = true,
                   .lowercase = true,
                   .unknown = get_double(options, "unknown")},
                  seed);
}

std::vector<std::string> packages() {
  std::vector<std::string> names;
  for (const Language& language : kLanguages) names.emplace_back(language.package);
  return names;
}

}  // namespace

TaskEntry languages_task() {
  return {
      .name = "languages",
      .summary = "Say which of seven European languages a word is from.",
      .options = {file_option("path", "Folder of the word lists.", "/usr/share/dict"),
                  {"words", 50000,
                   "Words per language, drawn by a hash; at most as many as the shortest list has.",
                   10, 1e9},
                  {"max_length", 32, "Maximum characters of a word; the rest is cut off.", 1,
                   65536},
                  unknown_option()},
      .debian_packages = packages(),
      .make = make,
      .needs =
          "Positions and about three layers, to read letters in order. Words in several lists are "
          "left out, and no word is in two splits.",
      .theory = "open: no theorem is known",
      .source = "Debian's word lists",
      .best = "unknown, because nobody knows the distribution of the words of a language"};
}

}  // namespace xgrad

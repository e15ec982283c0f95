// WordNet 3.0 (Miller 1995; Fellbaum 1998): definitions of 117,659 senses. The class of a sense is
// its lexicographer file, such as noun.animal or verb.motion. Free to use, copy, modify and
// distribute; Princeton University, see /usr/share/doc/wordnet-base/copyright.
#include <charconv>
#include <filesystem>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/tables/row_task.hpp>
#include <xgrad/text/text.hpp>

namespace xgrad {

// The names of the lexicographer files in the order of their numbers, see lexnames(5WN).
static const std::vector<std::string_view> kClasses = words(
    "adj.all adj.pert adv.all noun.Tops noun.act noun.animal noun.artifact noun.attribute "
    "noun.body noun.cognition noun.communication noun.event noun.feeling noun.food noun.group "
    "noun.location noun.motive noun.object noun.person noun.phenomenon noun.plant "
    "noun.possession noun.process noun.quantity noun.relation noun.shape noun.state "
    "noun.substance noun.time verb.body verb.change verb.cognition verb.communication "
    "verb.competition verb.consumption verb.contact verb.creation verb.emotion verb.motion "
    "verb.perception verb.possession verb.social verb.stative verb.weather adj.ppl");

/// Parses a line of a data file: offset, number of the lexicographer file, ... | definition.
static void add_sense(const std::string& place, std::string_view line, Table& table) {
  const std::size_t bar = line.find(" | ");
  std::size_t number = kClasses.size();
  if (line.size() > 11 && line[8] == ' ' && line[11] == ' ') {
    std::from_chars(line.data() + 9, line.data() + 11, number);
  }
  check<DataError>(bar != std::string_view::npos && number < kClasses.size(), place,
                   ": is not a sense such as \"00001740 03 n ... | definition\"");
  std::string_view text = line.substr(bar + 3);
  text = text.substr(0, text.find('"'));  // drop the examples after the definition
  table.rows.push_back({std::string(text), std::string(kClasses[number])});
}

static Table read(const std::string& folder, bool all) {
  Table table{.file = folder, .columns = {"definition", "class"}};
  for (const char* name : {"data.noun", "data.verb", "data.adj", "data.adv"}) {
    const std::string path = (std::filesystem::path(folder) / name).string();
    const std::string bytes = read_bytes(path, "wordnet-base");
    table.fingerprint = stable_hash(bytes, table.fingerprint);
    for_each_line(bytes, [&](std::string_view line, std::size_t number) {
      if (line.starts_with("  ")) return;  // the license at the start of each file
      add_sense(path + ": line " + std::to_string(number), line, table);
    });
    if (!all) break;
  }
  check<DataError>(!table.rows.empty(), folder, ": has no senses");
  return table;
}

static std::unique_ptr<Task> make(const Options& options, std::uint64_t seed) {
  const std::string path = get_string(options, "path");
  const auto rows = [path, all = get_string(options, "senses") == "all"](Split) {
    return rows_of(read(path, all));
  };
  return row_task({.task = "wordnet", .read = rows, .files = {path}},
                  {.inputs = {"definition"},
                   .target = "class",
                   .tokens = TokenKind::plain_words,
                   .min_count = get_size(options, "min_count"),
                   .max_length = get_size(options, "max_length"),
                   .cut = true},
                  seed);
}

TaskEntry wordnet_task() {
  return {
      .name = "wordnet",
      .summary = "Say what kind of thing a definition from WordNet defines.",
      .options = {file_option("path", "Folder of data.noun, data.verb, data.adj and data.adv.",
                              "/usr/share/wordnet"),
                  {.name = "senses",
                   .fallback = "noun",
                   .help = "Classes to tell apart: the 26 of nouns (noun), or all 45 (all).",
                   .choices = {"noun", "all"}},
                  {"min_count", 2, "Minimum count in the training rows: rarer words become <unk>.",
                   1, 1e9},
                  {"max_length", 40, "Maximum words of a definition; the rest is cut off.", 1,
                   65536}},
      .debian_packages = {"wordnet-base"},
      .make = make,
      .needs = "Positions, one layer, and embeddings that generalise: half of the words are rare.",
      .theory = "open: no theorem is known",
      .source = "Miller 1995, WordNet, as in Debian's wordnet-base",
      .best = "unknown, because nobody knows the distribution of the definitions"};
}

}  // namespace xgrad

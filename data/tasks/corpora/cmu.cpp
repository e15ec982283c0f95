// The CMU pronouncing dictionary, version 0.4 as prepared by the Festival project: 105,000 English
// words with their phones. The task labels each letter with 0, 1 or 2 phones. Free to use, copy,
// modify and sell; University of Edinburgh and Carnegie Mellon University, see
// /usr/share/doc/festlex-cmu/copyright.
#include <xgrad/data/tasks/corpora/cmu.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/portable_math.hpp>
#include <xgrad/data/rules/baseline.hpp>
#include <xgrad/data/tables/row_task.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/text/text.hpp>

namespace xgrad {

namespace {

constexpr int kRounds = 8, kRoundsAfter = 4;  // rounds of EM before and after removing rare labels
constexpr double kRare = 8;                   // labels with a lower expected count are removed
constexpr const char* kLetters = "abcdefghijklmnopqrstuvwxyz";
constexpr const char* kSilent = "_";
constexpr const char* kOther = "?";

// Endings of English words, the longest first. At least kFewest letters must remain.
constexpr std::string_view kEndings[] = {"ization", "isation", "ments", "izing", "ment", "ness",
                                         "ings",    "ized",    "izes",  "iers",  "iest", "ing",
                                         "ize",     "ier",     "ies",   "est",   "ers",  "ied",
                                         "eds",     "er",      "ed",    "es",    "ly",   "s"};
constexpr std::size_t kFewest = 3;

constexpr std::size_t kMostPhones = 2;  // most phones per letter
// Initial probabilities for EM, by number of phones. Pairs get little, or EM would prefer a silent
// letter and a pair over two letters with one phone each.
constexpr double kStart[] = {0.2, 0.75, 0.05};
// Breaks ties between equally likely alignments; far above rounding errors in a sum of logarithms.
constexpr double kLater = 1e-7;

/// A value for each pair (letters read, phones read) of a word.
class Lattice {
 public:
  Lattice(const Pronunciation& word, double value)
      : width_(word.phones.size() + 1), values_((word.letters.size() + 1) * width_, value) {}
  double& at(std::size_t letters, std::size_t phones) { return values_[letters * width_ + phones]; }

 private:
  std::size_t width_;
  std::vector<double> values_;
};

/// Calls f(letter, first phone, number of phones) for every possible step of an alignment.
template <class F>
void for_each_step(const Pronunciation& word, const F& f) {
  for (std::size_t i = 0; i < word.letters.size(); ++i) {
    for (std::size_t j = 0; j <= word.phones.size(); ++j) {
      for (std::size_t k = 0; k <= kMostPhones && j + k <= word.phones.size(); ++k) f(i, j, k);
    }
  }
}

struct Word {
  std::string letters;
  std::vector<std::string> phones;

  bool is_training() const { return split_of_key(stem(letters)) == Split::train; }
};

/// Parses an entry: ("abandon" nil (((ax) 0) ((b ae n) 1) ((d ax n) 0))). It has a word, its part
/// of speech, and syllables of phones with their stress, which is ignored.
Word parse_entry(const std::string& place, const std::string& line) {
  const std::size_t end = line.find('"', 2),
                    syllables = line.find(" (", std::min(end, line.size()));
  check<DataError>(line.starts_with("(\"") && end != std::string::npos && end > 2 &&
                       syllables != std::string::npos && line.ends_with(")))"),
                   place, ": is not an entry such as (\"at\" nil (((ae t) 1))): ", excerpt(line));
  Word word{line.substr(2, end - 2), {}};
  std::string phones = line.substr(syllables);
  std::replace_if(
      phones.begin(), phones.end(), [](char c) { return c == '(' || c == ')'; }, ' ');
  for (const std::string_view each : words(phones)) {
    if (each.find_first_not_of("01") == std::string::npos) continue;  // skip the stress
    check<DataError>(each.find_first_not_of(kLetters) == std::string::npos, place, ": ",
                     excerpt(each), " is not a phone");
    word.phones.emplace_back(each);
  }
  check<DataError>(!word.phones.empty(), place, ": has no phones");
  return word;
}

/// Reads the first pronunciation of every word spelt only with a to z.
std::vector<Word> read_words(const std::string& path, const std::string& bytes) {
  std::vector<Word> list;
  std::set<std::string> seen;
  for_each_line(bytes, [&](std::string_view line, std::size_t number) {
    if (number == 1 && line == "MNCL") return;  // marks a compiled dictionary of Festival
    Word word = parse_entry(path + ": line " + std::to_string(number), std::string(line));
    const bool plain = word.letters.find_first_not_of(kLetters) == std::string::npos;
    if (plain && seen.insert(word.letters).second) list.push_back(std::move(word));
  });
  return list;
}

/// Aligns all words, using EM on the training split. Returns the labels of each word, one for each
/// letter; none if it has no alignment.
std::vector<std::vector<std::string>> align(const std::vector<Word>& list) {
  std::map<std::string, std::int32_t> numbers;
  for (const Word& word : list) {
    for (const std::string& phone : word.phones) numbers[phone];
  }
  std::vector<std::string> names;
  for (auto& [phone, number] : numbers) {
    number = std::int32_t(names.size());
    names.push_back(phone);
  }
  std::vector<Pronunciation> all, training;
  for (const Word& word : list) {
    Pronunciation& numbered = all.emplace_back();
    for (const char letter : word.letters) numbered.letters.push_back(letter - 'a');
    for (const std::string& phone : word.phones) numbered.phones.push_back(numbers.at(phone));
    if (word.is_training()) training.push_back(numbered);
  }
  Alignment alignment(26, names.size());
  for (int round = 0; round < kRounds; ++round) alignment.fit(training);
  alignment.fit(training, kRare);
  for (int round = 0; round < kRoundsAfter; ++round) alignment.fit(training);
  std::vector<std::vector<std::string>> result;
  for (const Pronunciation& word : all) {
    std::vector<std::string>& labels = result.emplace_back();
    for (const std::int32_t label : alignment.best(word).value_or(std::vector<std::int32_t>())) {
      std::string name;
      for (const std::int32_t phone : alignment.phones(label)) {
        name += (name.empty() ? "" : "-") + names[std::size_t(phone)];
      }
      labels.push_back(name.empty() ? kSilent : name);
    }
  }
  return result;
}

Table read(const std::string& path) {
  const std::string bytes = read_bytes(path, "festlex-cmu");
  const std::vector<Word> list = read_words(path, bytes);
  check<DataError>(!list.empty(), path, ": has no words");
  std::vector<std::vector<std::string>> labels = align(list);
  Table table{.file = path, .columns = {"word", "phones"}, .fingerprint = stable_hash(bytes)};
  for (std::size_t i = 0; i < list.size(); ++i) {
    // Training words without an alignment are left out; in the other splits they count as wrong.
    if (labels[i].empty() && list[i].is_training()) continue;
    if (labels[i].empty()) labels[i].assign(list[i].letters.size(), kOther);
    table.rows.push_back({list[i].letters, std::move(labels[i])});
  }
  return table;
}

std::unique_ptr<Task> make(const Options& options, std::uint64_t seed) {
  const std::string path = get_string(options, "path");
  RowSource source;
  source.task = "cmu";
  source.files = {path};
  source.read = [path](Split) { return rows_of(read(path)); };
  source.key = [](const Table& table, std::size_t row) {
    return stem(std::get<std::string>(table.rows[row][0]));
  };
  source.rules = [](const Dataset& train, const Dataset& test) {
    return std::vector{window_rule("counts of single letters", train, test, 0),
                       window_rule("counts in windows of up to 3 letters", train, test, 1),
                       window_rule("counts in windows of up to 9 letters", train, test, 4)};
  };
  return row_task(std::move(source),
                  {.inputs = {"word"},
                   .target = "phones",
                   .tokens = TokenKind::characters,
                   .labels = Labels::tokens,
                   .other = kOther},
                  seed);
}

}  // namespace

Alignment::Alignment(std::size_t letters, std::size_t phones)
    : phones_(phones), labels_(1 + phones + phones * phones) {
  const double p = double(phones);
  for (std::size_t letter = 0; letter < letters; ++letter) {
    table_.push_back(kStart[0]);
    table_.insert(table_.end(), phones, kStart[1] / p);
    table_.insert(table_.end(), phones * phones, kStart[2] / (p * p));
  }
}

std::size_t Alignment::label(const Pronunciation& word, std::size_t first,
                             std::size_t count) const {
  if (count == 0) return 0;
  const auto p = std::size_t(word.phones[first]);
  return count == 1 ? 1 + p : 1 + phones_ + phones_ * p + std::size_t(word.phones[first + 1]);
}

double Alignment::probability(const Pronunciation& word, std::size_t letter, std::size_t first,
                              std::size_t count) const {
  return table_[std::size_t(word.letters[letter]) * labels_ + label(word, first, count)];
}

void Alignment::add_expected(const Pronunciation& word, std::vector<double>& counts,
                             double& likelihood) const {
  const std::size_t n = word.letters.size(), m = word.phones.size();
  Lattice before(word, 0), after(word, 0);
  before.at(0, 0) = 1;
  for_each_step(word, [&](std::size_t i, std::size_t j, std::size_t k) {
    before.at(i + 1, j + k) += before.at(i, j) * probability(word, i, j, k);
  });
  const double total = before.at(n, m);
  if (!(total > 0)) return;
  after.at(n, m) = 1;
  for_each_step(word, [&](std::size_t from_last, std::size_t j, std::size_t k) {
    const std::size_t i = n - 1 - from_last;
    after.at(i, j) += probability(word, i, j, k) * after.at(i + 1, j + k);
  });
  for_each_step(word, [&](std::size_t i, std::size_t j, std::size_t k) {
    counts[std::size_t(word.letters[i]) * labels_ + label(word, j, k)] +=
        before.at(i, j) * probability(word, i, j, k) * after.at(i + 1, j + k) / total;
  });
  likelihood += portable::log(total);
}

double Alignment::fit(const std::vector<Pronunciation>& words, double least) {
  std::vector<double> counts(table_.size(), 0);
  double likelihood = 0;
  for (const Pronunciation& word : words) add_expected(word, counts, likelihood);
  for (std::size_t row = 0; row < counts.size(); row += labels_) {
    double sum = 0;
    for (std::size_t i = row; i < row + labels_; ++i) {
      if (counts[i] < least) counts[i] = 0;
      sum += counts[i];
    }
    for (std::size_t i = row; i < row + labels_; ++i) table_[i] = sum > 0 ? counts[i] / sum : 0;
  }
  return likelihood;
}

std::optional<std::vector<std::int32_t>> Alignment::best(const Pronunciation& word) const {
  const std::size_t n = word.letters.size(), m = word.phones.size();
  const double none = -std::numeric_limits<double>::infinity();
  Lattice score(word, none), taken(word, 0);
  score.at(0, 0) = 0;
  for_each_step(word, [&](std::size_t i, std::size_t j, std::size_t k) {
    const double p = probability(word, i, j, k);
    if (!(p > 0) || score.at(i, j) == none) return;
    const double value = score.at(i, j) + portable::log(p) + (k == 0 ? kLater * double(i) : 0);
    if (value <= score.at(i + 1, j + k)) return;
    score.at(i + 1, j + k) = value;
    taken.at(i + 1, j + k) = double(k);
  });
  if (score.at(n, m) == none) return std::nullopt;
  std::vector<std::int32_t> labels(n);
  for (std::size_t i = n, j = m; i-- > 0;) {
    const auto k = std::size_t(taken.at(i + 1, j));
    j -= k;
    labels[i] = std::int32_t(label(word, j, k));
  }
  return labels;
}

std::vector<std::int32_t> Alignment::phones(std::int32_t label) const {
  const auto p = std::int32_t(phones_);
  if (label == 0) return {};
  if (label <= p) return {label - 1};
  return {(label - 1 - p) / p, (label - 1 - p) % p};
}

std::string stem(std::string word) {
  const auto fits = [&](std::string_view ending) {
    return word.ends_with(ending) && word.size() >= ending.size() + kFewest;
  };
  const auto* const end = std::end(kEndings);
  for (auto ending = end; (ending = std::find_if(kEndings, end, fits)) != end;) {
    word.resize(word.size() - ending->size());
  }
  while (word.size() > kFewest && std::string_view("eyi").find(word.back()) != std::string::npos) {
    word.pop_back();
  }
  const std::size_t n = word.size();
  if (n > kFewest && word[n - 1] == word[n - 2]) word.pop_back();
  return word;
}

TaskEntry cmu_task() {
  return {.name = "cmu",
          .summary =
              "Pronounce English words: for each letter, name the zero to two phones that it "
              "stands for.",
          .options = {file_option("path", "The dictionary file.",
                                  "/usr/share/festival/dicts/cmu/cmudict-0.4.out")},
          .debian_packages = {"festlex-cmu"},
          .make = make,
          .needs =
              "Positions and about three layers, to read the letters on both sides; a decoder, to "
              "choose phones that suit the earlier phones. All forms of one stem are in the same "
              "split. A word is right if all of its letters are right.",
          .theory = "open: no theorem is known",
          .source = "the Carnegie Mellon Pronouncing Dictionary, as in Debian's festlex-cmu",
          .best =
              "unknown, because nobody knows the distribution of spellings and sounds, and some "
              "words have several pronunciations"};
}

}  // namespace xgrad

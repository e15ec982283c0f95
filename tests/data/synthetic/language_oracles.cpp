// The answers of the tasks that translate, in another way than theirs.
#include <algorithm>
#include <map>
#include <sstream>

#include "data/synthetic/oracles.hpp"

namespace xgrad {

namespace {

Tokens ids_of(const std::string& task, const std::string& text) {
  const std::vector<std::string> names = find_task(task).make({}, 1)->shape().class_names;
  Tokens result;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    result.push_back(std::int32_t(std::find(names.begin(), names.end(), word) - names.begin()));
  }
  return result;
}

// The largest unit of a number, what there is of it, and the rest.
std::string in_words(long number) {
  static const std::map<long, std::string, std::greater<>> units = {
      {1000000, "million"}, {1000, "thousand"}, {100, "hundred"}, {90, "ninety"},
      {80, "eighty"},       {70, "seventy"},    {60, "sixty"},    {50, "fifty"},
      {40, "forty"},        {30, "thirty"},     {20, "twenty"},   {19, "nineteen"},
      {18, "eighteen"},     {17, "seventeen"},  {16, "sixteen"},  {15, "fifteen"},
      {14, "fourteen"},     {13, "thirteen"},   {12, "twelve"},   {11, "eleven"},
      {10, "ten"},          {9, "nine"},        {8, "eight"},     {7, "seven"},
      {6, "six"},           {5, "five"},        {4, "four"},      {3, "three"},
      {2, "two"},           {1, "one"}};
  if (number == 0) return "";
  const auto& [unit, word] = *units.lower_bound(number);
  const std::string many = unit >= 100 ? in_words(number / unit) + " " : "";
  return many + word + " " + in_words(number % unit);
}

Tokens words_of_number(const Tokens& ids, const Options&) {
  std::string digits;
  for (const std::int32_t id : ids) digits += char('0' + id);
  const std::string words = digits == "0" ? "zero" : in_words(std::stol(digits));
  return ids_of("number_words", words + " end");
}

// English, masculine, feminine; of nouns English, French and gender.
constexpr const char* kDictionary = R"(
the le la|a un une|this ce cette|red rouge rouge|green vert verte|black noir noire
white blanc blanche|round rond ronde|heavy lourd lourde|empty vide vide|soft doux douce
cat chat m|dog chien m|horse cheval m|garden jardin m|book livre m|hat chapeau m
house maison f|door porte f|table table f|car voiture f|flower fleur f|chair chaise f
sees voit -|wants veut -|finds trouve -|likes aime -|loses perd -|draws dessine -
never jamais -|hardly guère -
)";

struct Entry {
  std::string first, second;
};

const std::map<std::string, Entry>& dictionary() {
  static const std::map<std::string, Entry> all = [] {
    std::string text = kDictionary;
    std::replace(text.begin(), text.end(), '|', '\n');
    std::istringstream words(text);
    std::map<std::string, Entry> result;
    for (std::string english, first, second; words >> english >> first >> second;) {
      result[english] = {first, second};
    }
    return result;
  }();
  return all;
}

// From the right: a noun sets the gender of what stands before it, up to its article, which goes to
// the front of what was collected since the noun.
Tokens french_of(const Tokens& ids, const Options&) {
  const std::vector<std::string> names = find_task("translation").make({}, 1)->shape().token_names;
  std::string result = "end", phrase, gender, negation;
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    const std::string& english = names[std::size_t(*id)];
    const Entry& entry = dictionary().at(english);
    if (entry.second == "m" || entry.second == "f") {
      gender = entry.second;
      phrase = entry.first;
    } else if (entry.second == "-") {
      const bool verb = english != "never" && english != "hardly";
      // A verb waits for a negation, which English has before it.
      if (verb) {
        negation = entry.first;
        const std::string before = id + 1 == ids.rend() ? "" : names[std::size_t(*(id + 1))];
        if (before != "never" && before != "hardly") result = negation + " " + result;
      } else {
        result = "ne " + negation + " " + entry.first + " " + result;
      }
    } else {
      const std::string& word = gender == "m" ? entry.first : entry.second;
      const bool article = english == "the" || english == "a" || english == "this";
      if (article) {
        result = word + " " + phrase + " " + result;
      } else {
        phrase += " " + word;
      }
    }
  }
  return ids_of("translation", result);
}

Options few(Options options) {
  options.insert({{"examples", 20000}, {"validation", 3000}, {"test", 3000}});
  return options;
}

}  // namespace

std::vector<OracleRow> language_rows() {
  return {
      {"number_words",
       {{"digits", 7}},
       few({{"digits", 3}}),
       995,
       "0 7",
       "expected a number without leading zeros, as in 4 0 7",
       words_of_number},
      {"translation",
       {{"adjectives", 3}},
       few({{"adjectives", 0}}),
       9000,
       "the cat sees",
       "expected a sentence such as: the red cat never sees a dog",
       french_of},
  };
}

}  // namespace xgrad

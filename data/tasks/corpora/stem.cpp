#include <xgrad/data/tasks/corpora/stem.hpp>

namespace xgrad {

// Longest first. At least kFewest letters must remain.
constexpr const char* kEndings[] = {"ization", "isation", "ments", "izing", "ment", "ness",
                                    "ings",    "ized",    "izes",  "iers",  "iest", "ing",
                                    "ize",     "ier",     "ies",   "est",   "ers",  "ied",
                                    "eds",     "er",      "ed",    "es",    "ly",   "s"};
constexpr std::size_t kFewest = 3;

static bool strip_ending(std::string& word) {
  for (const char* ending : kEndings) {
    const std::string text = ending;
    if (!word.ends_with(text) || word.size() < text.size() + kFewest) continue;
    word.resize(word.size() - text.size());
    return true;
  }
  return false;
}

std::string stem(std::string word) {
  while (strip_ending(word)) {
  }
  while (word.size() > kFewest && std::string("eyi").find(word.back()) != std::string::npos) {
    word.pop_back();
  }
  const std::size_t n = word.size();
  if (n > kFewest && word[n - 1] == word[n - 2]) word.pop_back();
  return word;
}

}  // namespace xgrad

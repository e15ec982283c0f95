#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

namespace {

const std::vector<std::string> kWords = {
    "zero",    "one",       "two",      "three",    "four",    "five",     "six",      "seven",
    "eight",   "nine",      "ten",      "eleven",   "twelve",  "thirteen", "fourteen", "fifteen",
    "sixteen", "seventeen", "eighteen", "nineteen", "twenty",  "thirty",   "forty",    "fifty",
    "sixty",   "seventy",   "eighty",   "ninety",   "hundred", "thousand", "million",  "end"};
constexpr std::int32_t kTwenty = 20, kHundred = 28, kThousand = 29, kMillion = 30, kEnd = 31;

// The words of a number from 1 to 999.
void add_below_thousand(std::int64_t number, Tokens& words) {
  if (number >= 100) words.insert(words.end(), {std::int32_t(number / 100), kHundred});
  number %= 100;
  if (number >= 20) {
    words.push_back(kTwenty + std::int32_t(number / 10 - 2));
    number %= 10;
  }
  if (number > 0) words.push_back(std::int32_t(number));
}

Tokens solve(const Tokens& digits) {
  check<DataError>(!digits.empty() && (digits.size() == 1 || digits[0] != 0),
                   "expected a number without leading zeros, as in 4 0 7");
  std::int64_t number = 0;
  for (const std::int32_t digit : digits) number = 10 * number + digit;
  Tokens words;
  for (const auto& [unit, word] : {std::pair(1000000, kMillion), {1000, kThousand}, {1, kEnd}}) {
    const std::int64_t part = number / unit % 1000;
    if (part == 0) continue;
    add_below_thousand(part, words);
    if (unit > 1) words.push_back(word);
  }
  if (words.empty()) words.push_back(0);
  words.push_back(kEnd);
  return words;
}

Synthetic describe(const Options& options) {
  const auto digits = get_size(options, "digits");
  Synthetic task;
  task.shape.output = OutputKind::generated;
  task.shape.vocabulary = 10;
  task.shape.max_length = digits;
  task.shape.class_names = kWords;
  // Three digits take four words, and each of the groups before the last one more.
  task.shape.max_outputs = digits / 3 * 4 + digits % 3 + (digits - 1) / 3 + 1;
  task.draw = [digits](const Rng& rng) {
    // The larger of two lengths, since there are few short numbers.
    const Rng lengths = rng / "length";
    const std::size_t length = 1 + std::max(lengths.below(digits, 0), lengths.below(digits, 1));
    Tokens ids = random_tokens(rng, length, 10);
    if (length > 1) ids[0] = 1 + std::int32_t((rng / "first").below(9, 0));
    return Example{.ids = std::move(ids)};
  };
  task.solve = solve;
  return task;
}

}  // namespace

TaskEntry number_words_task() {
  return synthetic_task(
      {.name = "number_words",
       .summary = "Write a number in English words, as four hundred seven for 4 0 7.",
       .options = {{"digits", 6, "Most digits of a number.", 3, 9}},
       .needs = "Positions, and an encoder and a decoder of two layers: a digit's word depends on "
                "its place and on the digit before it, and zeros are not written.",
       .theory = "needs positions and depth: a digit's word depends on its place from the right, "
                 "so a layer must find the end of the number first",
       .source = "made for xgrad"},
      describe);
}

}  // namespace xgrad

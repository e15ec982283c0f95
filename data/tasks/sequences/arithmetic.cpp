// Tasks about numbers.
#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/synthetic/synthetic.hpp>
#include <xgrad/data/task.hpp>

namespace xgrad {

// Ids after the ten digits.
constexpr std::int32_t kPlus = 10, kEquals = 11, kSlotId = 12;

// Writes the highest digit first, with leading zeros, so that each digit has a fixed position.
static Tokens layout(Tokens digits) {
  const std::size_t n = digits.size() / 2;
  digits.insert(digits.begin() + std::ptrdiff_t(n), kPlus);
  digits.push_back(kEquals);
  digits.insert(digits.end(), n + 1, kSlotId);
  return digits;
}

static Tokens sum_of(const Tokens& ids) {
  Tokens digits = ids;
  std::erase_if(digits, [](std::int32_t id) { return id >= kPlus; });
  check<DataError>(!digits.empty() && digits.size() % 2 == 0 && ids == layout(digits),
                   "expected two numbers with equally many digits, as in 0 7 + 3 5 = _ _ _");
  const std::size_t n = digits.size() / 2;
  Tokens targets(ids.size(), kIgnore);
  std::int32_t carry = 0;
  for (std::size_t i = n; i-- > 0;) {
    const std::int32_t sum = digits[i] + digits[n + i] + carry;
    targets[ids.size() - n + i] = sum % 10;
    carry = sum / 10;
  }
  targets[ids.size() - n - 1] = carry;
  return targets;
}

const std::vector<std::string> kWords = {
    "zero",    "one",       "two",      "three",    "four",    "five",     "six",      "seven",
    "eight",   "nine",      "ten",      "eleven",   "twelve",  "thirteen", "fourteen", "fifteen",
    "sixteen", "seventeen", "eighteen", "nineteen", "twenty",  "thirty",   "forty",    "fifty",
    "sixty",   "seventy",   "eighty",   "ninety",   "hundred", "thousand", "million",  "end"};
constexpr std::int32_t kTwenty = 20, kHundred = 28, kThousand = 29, kMillion = 30, kEndWord = 31;

// The words of a number from 1 to 999.
static void add_below_thousand(std::int64_t number, Tokens& words) {
  if (number >= 100) words.insert(words.end(), {std::int32_t(number / 100), kHundred});
  number %= 100;
  if (number >= 20) {
    words.push_back(kTwenty + std::int32_t(number / 10 - 2));
    number %= 10;
  }
  if (number > 0) words.push_back(std::int32_t(number));
}

static Tokens words_of(const Tokens& digits) {
  check<DataError>(!digits.empty() && (digits.size() == 1 || digits[0] != 0),
                   "expected a number without leading zeros, as in 4 0 7");
  std::int64_t number = 0;
  for (const std::int32_t digit : digits) number = 10 * number + digit;
  Tokens words;
  for (const auto& [unit, word] :
       {std::pair(1000000, kMillion), {1000, kThousand}, {1, kEndWord}}) {
    const std::int64_t part = number / unit % 1000;
    if (part == 0) continue;
    add_below_thousand(part, words);
    if (unit > 1) words.push_back(word);
  }
  if (words.empty()) words.push_back(0);
  words.push_back(kEndWord);
  return words;
}

extern const std::vector<TaskEntry> kArithmeticTasks = {
    synthetic_task(
        {.name = "addition",
         .summary = "Add two numbers, digit by digit.",
         .options = {{"digits", 2, "Digits of each number.", 2, 1024}},
         .needs = "Positions and two layers; more layers for carries over many digits.",
         .theory = "needs positions and depth: the carry into a digit depends on all lower digits; "
                   "a fixed depth is enough for the lengths seen in training",
         .source =
             "Nogueira, Jiang and Lin 2021, arXiv:2102.13019; Lee et al. 2023, arXiv:2307.03381"},
        [](const Options& options, Synthetic& task) {
          const std::size_t digits = get_size(options, "digits");
          task.shape.classes = 10;
          task.shape.max_length = 3 * digits + 3;
          task.shape.token_names = {"0", "1", "2", "3", "4", "5",  "6",
                                    "7", "8", "9", "+", "=", kSlot};
          task.draw = [digits](const Rng& rng) {
            return Example{.ids = layout(random_tokens(rng, 2 * digits, 10))};
          };
          task.solve = sum_of;
          // The sum has one digit more than each number.
          task.with_slots = [](Tokens ids) {
            if (ids.size() > 2 && ids.back() == kEquals)
              ids.insert(ids.end(), ids.size() / 2, kSlotId);
            return ids;
          };
        }),
    // Known for grokking: after training on a third of all pairs with weight decay, the accuracy on
    // the other pairs jumps long after the accuracy on the training pairs (Power et al. 2022; Nanda
    // et al. 2023).
    synthetic_task(
        {.name = "modular_addition",
         .summary = "Add two numbers modulo a third.",
         .options =
             {{"modulus", 97, "The modulus, prime or not; all numbers are below it.", 32, 512},
              {"examples", 0, "Number of training examples; 0: the whole training split.", 0, 1e9}},
         .needs = "Positions, one layer and weight decay; fewer examples need more steps.",
         .theory = "solvable: one layer learns it by trigonometric identities, long after it "
                   "memorises the training pairs (Nanda et al. 2023, arXiv:2301.05217)",
         .source = "Power et al. 2022, arXiv:2201.02177"},
        [](const Options& options, Synthetic& task) {
          const auto p = std::int32_t(get_int(options, "modulus"));
          task.shape.output = OutputKind::sequence;
          task.shape.classes = std::size_t(p);
          task.shape.max_length = 3;
          task.shape.token_names = numbered(std::size_t(p), {"="});
          for (std::int32_t a = 0; a < p; ++a) {
            for (std::int32_t b = 0; b < p; ++b) task.inputs.push_back({a, b, p});
          }
          task.solve = [p](const Tokens& ids) {
            const bool is_pair = ids.size() == 3 && ids[0] < p && ids[1] < p && ids[2] == p;
            check<DataError>(is_pair, "expected two numbers and =");
            return Tokens{(ids[0] + ids[1]) % p};
          };
        }),
    synthetic_task(
        {.name = "number_words",
         .summary = "Write a number in English words, as four hundred seven for 4 0 7.",
         .options = {{"digits", 6, "Maximum number of digits.", 3, 9}},
         .needs =
             "Positions, and an encoder and a decoder of two layers: a digit's word depends "
             "on its place and on the digit before it. No zero is written, except in 0 itself.",
         .theory = "needs positions and depth: a digit's word depends on its place from the right, "
                   "so a layer must find the end of the number first",
         .source = "made for xgrad"},
        [](const Options& options, Synthetic& task) {
          const auto digits = get_size(options, "digits");
          task.shape.output = OutputKind::generated;
          task.shape.vocabulary = 10;
          task.shape.max_length = digits;
          task.shape.class_names = kWords;
          // Three digits take four words. Each group of three but the last takes one more.
          task.shape.max_outputs = digits / 3 * 4 + digits % 3 + (digits - 1) / 3 + 1;
          task.draw = [digits](const Rng& rng) {
            // The larger of two lengths, since there are few short numbers.
            const Rng lengths = rng / "length";
            const std::size_t length =
                1 + std::max(lengths.below(digits, 0), lengths.below(digits, 1));
            Tokens ids = random_tokens(rng, length, 10);
            if (length > 1) ids[0] = 1 + std::int32_t((rng / "first").below(9, 0));
            return Example{.ids = std::move(ids)};
          };
          task.solve = words_of;
        })};

}  // namespace xgrad

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/batch.hpp>
#include <xgrad/data/generated_task.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

// Ids after the ten digits.
static constexpr std::int32_t kPlus = 10, kEquals = 11, kSlotId = 12;

// Writes the highest digit first, with leading zeros, so that each digit has a fixed position.
static Tokens layout(const Tokens& digits) {
  const auto half = digits.begin() + std::ptrdiff_t(digits.size() / 2);
  Tokens ids(digits.begin(), half);
  ids.push_back(kPlus);
  ids.insert(ids.end(), half, digits.end());
  ids.push_back(kEquals);
  ids.insert(ids.end(), digits.size() / 2 + 1, kSlotId);
  return ids;
}

static Tokens solve(const Tokens& ids) {
  Tokens digits;
  for (std::int32_t id : ids) {
    if (id < kPlus) digits.push_back(id);
  }
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

// The digits of the sum are one more than those of each number.
static Tokens with_slots(Tokens ids) {
  if (ids.size() > 2 && ids.back() == kEquals) ids.insert(ids.end(), ids.size() / 2, kSlotId);
  return ids;
}

static Synthetic describe(const Options& options) {
  const std::size_t digits = get_size(options, "digits");
  Synthetic task;
  task.shape.classes = 10;
  task.shape.max_length = 3 * digits + 3;
  task.shape.token_names = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "+", "=", kSlot};
  task.draw = [digits](const Rng& rng) {
    return Example{.ids = layout(random_tokens(rng, 2 * digits, 10))};
  };
  task.solve = solve;
  task.with_slots = with_slots;
  return task;
}

TaskEntry addition_task() {
  return synthetic_task(
      {.name = "addition",
       .summary = "Add two numbers, digit by digit.",
       .options = {{"digits", 2, "Digits of each number.", 2, 1024}},
       .needs = "Positions and two layers; more layers for carries over many digits.",
       .theory = "needs positions and depth: the carry into a digit depends on all digits below "
                 "it; a fixed depth covers the lengths seen in training",
       .source =
           "Nogueira, Jiang and Lin 2021, arXiv:2102.13019; Lee et al. 2023, arXiv:2307.03381"},
      describe);
}

}  // namespace xgrad

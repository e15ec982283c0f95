// Tasks that run an automaton over a sequence: with finitely many states, or with a stack.
#include <algorithm>
#include <numeric>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/synthetic.hpp>

namespace xgrad {

namespace {

// A minimal deterministic automaton over {0, 1} that starts in state 0.
struct Automaton {
  int next[5][2];   // the state after a 0 and after a 1
  bool accepts[5];  // whether the word read so far is in the language
  int dead = -1;    // the state that no word leaves, if there is one

  bool is_open(int state, std::int32_t bit) const { return next[state][bit] != dead; }
};

constexpr Automaton kLanguages[] = {
    {{{1, 0}, {1, 1}}, {true, false}, 1},
    {{{2, 1}, {0, 2}, {2, 2}}, {true, false, false}, 2},
    {{{0, 1}, {3, 0}, {3, 1}, {2, 4}, {4, 4}}, {true, true, true, false, false}, 4},
    {{{1, 0}, {2, 0}, {3, 0}, {3, 3}}, {true, true, true, false}, 3},
    {{{1, 2}, {0, 3}, {3, 0}, {2, 1}}, {true, false, false, false}},
    {{{1, 2}, {2, 0}, {0, 1}}, {true, false, false}},
    {{{0, 1}, {2, 1}, {2, 3}, {4, 3}, {4, 4}}, {true, true, true, true, false}, 4},
};

// Draws bits after which a word of the language is still possible. In half of the sequences, all
// bits from a random place on may be anything.
Tokens draw_word(const Automaton& automaton, const Rng& rng, std::size_t length) {
  const Rng fault = rng / "fault";
  const std::size_t kept = fault.below(2, 0) == 1 ? fault.below(length, 1) : length;
  Tokens ids = random_tokens(rng, length, 2);
  int state = 0;
  for (std::size_t i = 0; i < kept; ++i) {
    if (!automaton.is_open(state, ids[i])) ids[i] = 1 - ids[i];
    state = automaton.next[state][ids[i]];
  }
  return ids;
}

// Ids 0 and 1 are the stack, from the bottom to the top. The others act on it; pop does nothing on
// an empty stack.
constexpr std::int32_t kPop = 2, kPush0 = 3, kEnd = 2;

Tokens run_stack(const Tokens& ids) {
  Tokens stack;
  bool acts = false;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    check<DataError>(!acts || ids[i] >= kPop, "token ", i + 1,
                     " is part of the stack, which must come before all actions");
    acts = ids[i] >= kPop;
    if (ids[i] != kPop) {
      stack.push_back(acts ? ids[i] - kPush0 : ids[i]);
    } else if (!stack.empty()) {
      stack.pop_back();
    }
  }
  Tokens result(stack.rbegin(), stack.rend());
  result.resize(ids.size(), kEnd);
  return result;
}

// Ids after the ten digits.
enum Token : std::int32_t { minimum = 10, maximum, median, sum_modulo, end };

std::int32_t apply(std::int32_t operation, Tokens values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  switch (operation) {
    case minimum:
      return values.front();
    case maximum:
      return values.back();
    case median:
      return (values[(n - 1) / 2] + values[n / 2]) / 2;  // rounded down
    default:
      return std::accumulate(values.begin(), values.end(), 0) % 10;
  }
}

Tokens value_of(const Tokens& ids) {
  struct Open {
    std::int32_t operation;
    Tokens values;
  };
  std::vector<Open> waiting = {{end, {}}};  // the whole line
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < minimum) {
      waiting.back().values.push_back(ids[i]);
    } else if (ids[i] != end) {
      waiting.push_back({ids[i], {}});
    } else {
      check<DataError>(waiting.size() > 1, "token ", i + 1, " is a ] without an open list");
      check<DataError>(!waiting.back().values.empty(), "token ", i + 1,
                       " is a ] that closes an empty list");
      const std::int32_t value = apply(waiting.back().operation, std::move(waiting.back().values));
      waiting.pop_back();
      waiting.back().values.push_back(value);
    }
  }
  check<DataError>(waiting.size() == 1, "a ] is missing");
  check<DataError>(waiting[0].values.size() == 1, "expected one value, got ",
                   waiting[0].values.size());
  return {waiting[0].values[0]};
}

// Draws a list of up to `most` members, with at most `depth` levels of lists.
void draw_list(const Rng& rng, std::size_t depth, std::size_t most, Tokens& ids) {
  ids.push_back(std::int32_t(minimum + rng.below(4, 0)));
  const std::size_t count = 2 + rng.below(most - 1, 1);
  for (std::size_t i = 0; i < count; ++i) {
    if (depth > 1 && rng.below(2, 2 + 2 * i) == 1) {
      draw_list(rng / i, depth - 1, most, ids);
    } else {
      ids.push_back(std::int32_t(rng.below(10, 3 + 2 * i)));
    }
  }
  ids.push_back(end);
}

}  // namespace

extern const std::vector<TaskEntry> kAutomataTasks = {
    synthetic_task(
        {.name = "tomita",
         .summary = "For each prefix, say whether it is a word of one of Tomita's seven languages.",
         .options =
             length_options(16, {{"language", 4,
                                  "1: only 1s; 2: only pairs 10; 3: no odd run of 1s right before "
                                  "an odd run of 0s; 4: no 000; 5: an even number of 0s and of 1s; "
                                  "6: as many 0s as 1s, modulo 3; 7: 0s, 1s, 0s, then 1s.",
                                  1, 7}}),
         .needs = "Positions and two layers for the languages 1, 2, 4 and 7; the others count "
                  "modulo 2 or 3, which is hard.",
         .theory = "needs positions and depth: languages 1, 2, 4 and 7 are star-free, which masked "
                   "hard attention recognises (Yang, Chiang and Angluin 2024, arXiv:2310.13897); "
                   "3, 5 and 6 count modulo 2 or 3 and are not learnable beyond the lengths seen "
                   "in training (Bhattamishra et al. 2020)",
         .source = "Tomita 1982; Bhattamishra, Ahuja and Goyal 2020, arXiv:2009.11264"},
        [](const Options& options, Synthetic& task) {
          const Automaton& automaton = kLanguages[get_int(options, "language") - 1];
          task.shape.vocabulary = 2;
          task.shape.class_names = {"no", "yes"};
          draw_lengths(task, Lengths(options), [&automaton](const Rng& rng, std::size_t length) {
            return Example{.ids = draw_word(automaton, rng, length)};
          });
          task.solve = [&automaton](Tokens ids) {
            int state = 0;
            for (std::int32_t& id : ids) id = automaton.accepts[state = automaton.next[state][id]];
            return ids;
          };
        }),
    synthetic_task(
        {.name = "cycle_navigation",
         .summary = "Follow steps on a circle of five places; say where they end.",
         .options = length_options(),
         .needs = "Two layers and no positions; training finds the rule for short lengths only, "
                  "since it is a sum modulo 5.",
         .theory = "not learnable: sums modulo 5 over a sequence; encoders learn shortcuts for the "
                   "lengths seen in training (Liu et al. 2023, arXiv:2210.10749), and fail beyond "
                   "them (Deletang et al. 2023)",
         .source = "Deletang et al. 2023, arXiv:2207.02098"},
        [](const Options& options, Synthetic& task) {
          constexpr std::int32_t kPlaces = 5;
          const auto last_place = [](const Tokens& ids) {
            constexpr std::int32_t kSteps[] = {0, 1, kPlaces - 1};  // stay, go on, go back
            std::int32_t place = 0;
            for (const std::int32_t id : ids) place = (place + kSteps[id]) % kPlaces;
            return Tokens{place};
          };
          task = one_target(uniform_tokens(options, last_place, 3));
          task.shape.token_names = {"stay", "on", "back"};
          task.shape.classes = kPlaces;
        }),
    // Unlike in the paper, there is one output for each token, not one more: the stack never has
    // more elements than there are tokens.
    synthetic_task(
        {.name = "stack_manipulation",
         .summary = "Push to and pop from a stack; output it from the top to the bottom.",
         .options = length_options(),
         .needs = "Positions and several layers: they find the size of the stack after each "
                  "action, and the last push at each height.",
         .theory = "needs positions and depth: the output depends on the size of the stack at each "
                   "push; encoders fail beyond the lengths seen in training (Deletang et al. 2023)",
         .source = "Deletang et al. 2023, arXiv:2207.02098"},
        [](const Options& options, Synthetic& task) {
          task.shape.token_names = {"0", "1", "pop", "push0", "push1"};
          task.shape.class_names = {"0", "1", "end"};
          draw_lengths(task, Lengths(options, 2), [](const Rng& rng, std::size_t length) {
            // The stack has any number of tokens from 1 to length - 1.
            const std::size_t size = 1 + (rng / "size").below(length - 1, 0);
            Example example{.ids = random_tokens(rng / "stack", size, 2)};
            for (const std::int32_t action : random_tokens(rng / "actions", length - size, 3)) {
              example.ids.push_back(kPop + action);
            }
            return example;
          });
          task.solve = run_stack;
        }),
    // ListOps (Nangia and Bowman 2018), with much shorter lists than in the Long Range Arena.
    synthetic_task(
        {.name = "listops",
         .summary = "Evaluate nested lists of digits: MIN, MAX, MED(ian), SM (sum mod 10).",
         .options = {{"depth", 2, "Maximum levels of nested lists.", 1, 4},
                     {"arguments", 4, "Maximum number of members of a list.", 2, 6}},
         .needs = "Positions and about one layer for each level; sums modulo 10 are hard.",
         .theory = "needs positions and depth: about one layer for each level; nesting without a "
                   "bound is beyond a fixed depth unless TC0 = NC1 (Merrill and Sabharwal 2023, "
                   "arXiv:2207.00729)",
         .source = "Nangia and Bowman 2018, arXiv:1804.06028; the Long Range Arena of Tay et al. "
                   "2021, arXiv:2011.04006, reports 0.3637 at lengths from 500 to 2000"},
        [](const Options& options, Synthetic& task) {
          const std::size_t depth = get_size(options, "depth"),
                            most = get_size(options, "arguments");
          task.shape.output = OutputKind::sequence;
          task.shape.classes = 10;
          task.shape.max_length = 1;
          for (std::size_t level = 0; level < depth; ++level) {
            task.shape.max_length = 2 + most * task.shape.max_length;
          }
          task.shape.token_names = {"0", "1", "2",    "3",    "4",    "5",   "6", "7",
                                    "8", "9", "[MIN", "[MAX", "[MED", "[SM", "]"};
          task.draw = [=](const Rng& rng) {
            Example example;
            draw_list(rng, depth, most, example.ids);
            return example;
          };
          task.solve = value_of;
        })};

}  // namespace xgrad

#include <xgrad/data/synthetic/uniform_tokens.hpp>

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

Tokens solve(const Automaton& automaton, const Tokens& ids) {
  Tokens targets;
  int state = 0;
  for (const std::int32_t id : ids) {
    state = automaton.next[state][id];
    targets.push_back(automaton.accepts[state]);
  }
  return targets;
}

// Draws bits after which a word of the language is still possible. In half of the sequences, all
// bits from a random place on may be anything.
Example draw(const Automaton& automaton, const Rng& rng, std::size_t length) {
  const Rng fault = rng / "fault";
  const std::size_t kept = fault.below(2, 0) == 1 ? fault.below(length, 1) : length;
  Example example;
  example.ids = random_tokens(rng, length, 2);
  int state = 0;
  for (std::size_t i = 0; i < kept; ++i) {
    std::int32_t& bit = example.ids[i];
    if (!automaton.is_open(state, bit)) bit = 1 - bit;
    state = automaton.next[state][bit];
  }
  return example;
}

Synthetic describe(const Options& options) {
  const Automaton& automaton = kLanguages[get_int(options, "language") - 1];
  Synthetic task;
  task.shape.vocabulary = 2;
  task.shape.class_names = {"no", "yes"};
  draw_lengths(task, Lengths(options), [&automaton](const Rng& rng, std::size_t length) {
    return draw(automaton, rng, length);
  });
  task.solve = [&automaton](const Tokens& ids) { return solve(automaton, ids); };
  return task;
}

}  // namespace

TaskEntry tomita_task() {
  OptionSpec language{"language", 4,
                      "1: only 1s; 2: repeated 10; 3: no odd run of 1s right before an odd run of "
                      "0s; 4: no 000; 5: evenly many 0s and evenly many 1s; 6: as many 0s as 1s, "
                      "modulo 3; 7: 0s, 1s, 0s, then 1s.",
                      1, 7};
  return synthetic_task(
      {.name = "tomita",
       .summary = "For each prefix, say whether it is a word of one of Tomita's seven languages.",
       .options = length_options(16, {std::move(language)}),
       .needs = "Positions and two layers for 1, 2, 4 and 7; the others count modulo 2 or 3, which "
                "is hard.",
       .theory = "needs positions and depth: languages 1, 2, 4 and 7 are star-free, which masked "
                 "hard attention recognises (Yang, Chiang and Angluin 2024, arXiv:2310.13897); 3, "
                 "5 and 6 count modulo 2 or 3 and are not learnable beyond the lengths seen in "
                 "training (Bhattamishra et al. 2020)",
       .source = "Tomita 1982; Bhattamishra, Ahuja and Goyal 2020, arXiv:2009.11264"},
      describe);
}

}  // namespace xgrad

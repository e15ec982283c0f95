// Tasks about brackets. Even ids open a bracket; the next id closes it.
#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/synthetic.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kMostKinds = 4;  // kinds of brackets that have a name

// The class of a prefix: brackets are open, all are closed, or one is wrong.
enum BracketStatus : std::int32_t { open, closed, wrong };

using DrawBrackets = Tokens(const Rng& rng, std::size_t length, std::size_t kinds);

// A task with a BracketStatus for each token. In half of the sequences that `draw` returns, one
// bracket is replaced by a random one.
TaskEntry bracket_status(TaskEntry about, DrawBrackets* draw, Solve solve) {
  about.options =
      length_options(16, {{"kinds", 2, "Number of kinds of brackets.", 1, double(kMostKinds)}});
  return synthetic_task(std::move(about), [=](const Options& options, Synthetic& task) {
    constexpr const char* kBrackets[] = {"(", ")", "[", "]", "{", "}", "<", ">"};
    const std::size_t kinds = get_size(options, "kinds");
    task.shape.class_names = {"open", "closed", "wrong"};
    task.shape.token_names.assign(kBrackets, kBrackets + 2 * kinds);
    draw_lengths(task, Lengths(options), [=](const Rng& rng, std::size_t length) {
      Tokens ids = draw(rng, length, kinds);
      const Rng fault = rng / "fault";
      if (fault.below(2, 0) == 1) {
        ids[fault.below(ids.size(), 1)] = std::int32_t(fault.below(2 * kinds, 2));
      }
      return Example{.ids = std::move(ids)};
    });
    task.solve = solve;
  });
}

// For each bracket: whether it opens or closes if it could do both. It opens with probability 2/5.
Tokens may_open(const Rng& rng, std::size_t length) {
  Tokens opens = random_tokens(rng / "opens", length, 5);
  for (std::int32_t& each : opens) each = each < 2;
  return opens;
}

// Draws correct brackets, with at most `depth` open at once.
Tokens draw_nested(const Rng& rng, const Tokens& opens, std::size_t kinds, std::size_t depth) {
  const Tokens kind = random_tokens(rng / "kind", opens.size(), kinds);
  Tokens ids, waiting;
  for (std::size_t i = 0; i < opens.size(); ++i) {
    if (waiting.empty() || (waiting.size() < depth && opens[i])) {
      ids.push_back(2 * kind[i]);
      waiting.push_back(2 * kind[i] + 1);
    } else {
      ids.push_back(waiting.back());
      waiting.pop_back();
    }
  }
  return ids;
}

Tokens status_nested(const Tokens& ids) {
  Tokens waiting, targets;
  bool is_wrong = false;
  for (std::int32_t id : ids) {
    if (id % 2 == 0) {
      waiting.push_back(id + 1);
    } else if (!waiting.empty() && waiting.back() == id) {
      waiting.pop_back();
    } else {
      is_wrong = true;
    }
    targets.push_back(is_wrong ? wrong : waiting.empty() ? closed : open);
  }
  return targets;
}

// Draws correct brackets. A bracket that closes is of any kind that is open, all equally likely.
Tokens draw_shuffled(const Rng& rng, std::size_t length, std::size_t kinds) {
  const Tokens opens = may_open(rng, length);
  const Tokens kind = random_tokens(rng / "kind", length, kinds);
  Tokens ids, waiting(kinds);
  for (std::size_t i = 0; i < length; ++i) {
    Tokens unclosed;
    for (std::size_t k = 0; k < kinds; ++k) {
      if (waiting[k] > 0) unclosed.push_back(std::int32_t(k));
    }
    const bool opens_one = unclosed.empty() || opens[i];
    const std::int32_t own =
        opens_one ? kind[i] : unclosed[(rng / "close" / i).below(unclosed.size(), 0)];
    waiting[std::size_t(own)] += opens_one ? 1 : -1;
    ids.push_back(2 * own + (opens_one ? 0 : 1));
  }
  return ids;
}

// Brackets of one kind must match each other, but may cross brackets of other kinds.
Tokens status_shuffled(const Tokens& ids) {
  Tokens waiting(kMostKinds), targets;
  std::int32_t sum = 0;
  bool is_wrong = false;
  for (const std::int32_t id : ids) {
    const std::int32_t step = id % 2 == 0 ? 1 : -1;
    sum += step;
    is_wrong = (waiting[std::size_t(id / 2)] += step) < 0 || is_wrong;
    targets.push_back(is_wrong ? wrong : sum == 0 ? closed : open);
  }
  return targets;
}

// The kind of the nearest bracket that is open after each token; `kinds` if none is.
Tokens nearest_open(const Tokens& ids, std::size_t kinds, std::size_t depth) {
  Tokens waiting, targets;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] % 2 == 0) {
      check<DataError>(waiting.size() < depth, "token ", i + 1, " is at depth ", depth + 1,
                       ", must be at most ", depth);
      waiting.push_back(ids[i] / 2);
    } else {
      check<DataError>(!waiting.empty() && waiting.back() == ids[i] / 2, "token ", i + 1,
                       " does not close the nearest open bracket");
      waiting.pop_back();
    }
    targets.push_back(waiting.empty() ? std::int32_t(kinds) : waiting.back());
  }
  return targets;
}

}  // namespace

extern const std::vector<TaskEntry> kBracketTasks = {
    // Prefixes of Dyck-k, as in RASP (Weiss et al. 2021).
    bracket_status(
        {.name = "dyck",
         .summary = "For each bracket, say whether the sequence up to it is closed, open or wrong.",
         .needs = "Positions and two layers for one kind of brackets, more for several; deep "
                  "nesting is hard.",
         .theory = "needs positions and depth: two layers suffice for a bounded depth (Yao et al. "
                   "2021, arXiv:2105.11115); no fixed encoder with hard attention is right at all "
                   "lengths (Hahn 2020, arXiv:1906.06755)",
         .source = "Weiss, Goldberg and Yahav 2021, arXiv:2106.06981"},
        [](const Rng& rng, std::size_t length, std::size_t kinds) {
          return draw_nested(rng, may_open(rng, length), kinds, length);
        },
        status_nested),
    bracket_status(
        {.name = "shuffle_dyck",
         .summary = "Like dyck, but brackets of different kinds need not nest: ([)] is closed.",
         .needs = "A causal mask and two layers; positions help little.",
         .theory = "solvable: one layer with a causal mask counts each kind of brackets "
                   "(Bhattamishra, Ahuja and Goyal 2020)",
         .source = "Bhattamishra, Ahuja and Goyal 2020, arXiv:2009.11264"},
        draw_shuffled, status_shuffled),
    // Prefixes of Dyck-(k, D): brackets of k kinds, nested at most D deep (Yao et al. 2021). The
    // nearest open bracket tells which bracket may close next.
    synthetic_task(
        {.name = "dyck_nearest",
         .summary = "After each bracket, name the last opened bracket that is still open.",
         .options = length_options(
             32, {{"kinds", 8, "Number of kinds of brackets.", 1, 1024},
                  {"depth", 10, "Maximum number of brackets that are open at once.", 1, 65536}}),
         .needs = "Positions and two layers: the first finds the depth, the second the last "
                  "bracket that opened at this depth.",
         .theory = "needs positions and depth: two layers of soft attention suffice for any depth "
                   "bound (Yao et al. 2021)",
         .source = "Yao et al. 2021, Self-Attention Networks Can Process Bounded Hierarchical "
                   "Languages, arXiv:2105.11115"},
        [](const Options& options, Synthetic& task) {
          const std::size_t kinds = get_size(options, "kinds"), depth = get_size(options, "depth");
          task.shape.class_names = numbered(kinds, {}, "(", 1);
          for (const std::string& name : task.shape.class_names) {
            task.shape.token_names.insert(task.shape.token_names.end(),
                                          {name, ")" + name.substr(1)});
          }
          task.shape.class_names.push_back("none");
          draw_lengths(task, Lengths(options), [=](const Rng& rng, std::size_t length) {
            // If a bracket could open or close, both have equal probability.
            const Tokens opens = random_tokens(rng / "opens", length, 2);
            return Example{.ids = draw_nested(rng, opens, kinds, depth)};
          });
          task.solve = [=](const Tokens& ids) { return nearest_open(ids, kinds, depth); };
        })};

}  // namespace xgrad

#include <algorithm>
#include <functional>
#include <memory>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/uniform_tokens.hpp>

namespace xgrad {

namespace {

enum Word : std::int32_t { walk, look, run, jump, turn, left, right, opposite, around };
enum Link : std::int32_t { twice = 9, thrice, both, after, slot };  // behind phrases
// The first four actions are those of the first four words.
enum Action : std::int32_t { left_turn = 4, right_turn, none };

// The actions of a phrase such as "walk opposite left". `at` moves behind the phrase; null if there
// is none.
bool read_phrase(const Tokens& ids, std::size_t& at, Tokens& actions) {
  const auto is = [&](Word first, Word last) {
    return at < ids.size() && ids[at] >= first && ids[at] <= last;
  };
  if (!is(walk, turn)) return false;
  const std::int32_t verb = ids[at++];
  const bool is_opposite = is(opposite, opposite), is_around = is(around, around);
  at += is_opposite || is_around;
  if (!is(left, right)) {
    if (verb != turn) actions.push_back(verb);
    return verb != turn && !is_opposite && !is_around;
  }
  const std::int32_t direction = ids[at++] == left ? left_turn : right_turn;
  for (int times = is_around ? 4 : 1; times > 0; --times) {
    actions.insert(actions.end(), is_opposite ? 2 : 1, direction);
    if (verb != turn) actions.push_back(verb);
  }
  return true;
}

// The same of a phrase that may be repeated.
bool read_sentence(const Tokens& ids, std::size_t& at, Tokens& actions) {
  Tokens phrase;
  if (!read_phrase(ids, at, phrase)) return false;
  const bool has_count = at < ids.size() && (ids[at] == twice || ids[at] == thrice);
  const int times = !has_count ? 1 : ids[at] == twice ? 2 : 3;
  at += has_count;
  for (int i = 0; i < times; ++i) actions.insert(actions.end(), phrase.begin(), phrase.end());
  return true;
}

// The actions of a command, which ends before the slots. Throws DataError.
Tokens actions_of(const Tokens& ids) {
  std::size_t at = 0;
  Tokens first, second;
  bool is_good = read_sentence(ids, at, first);
  if (is_good && at < ids.size() && (ids[at] == both || ids[at] == after)) {
    const bool is_after = ids[at++] == after;
    is_good = read_sentence(ids, at, second);
    if (is_after) first.swap(second);
  }
  is_good = is_good && std::count(ids.begin() + std::ptrdiff_t(at), ids.end(), slot) ==
                           std::ptrdiff_t(ids.size() - at);
  check<DataError>(is_good, "expected a command, as in walk left twice, and then only _");
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// All commands of the grammar.
std::vector<Tokens> all_commands(bool with_around) {
  std::vector<Tokens> phrases;
  for (std::int32_t verb = walk; verb <= turn; ++verb) {
    if (verb != turn) phrases.push_back({verb});
    for (const std::int32_t direction : {left, right}) {
      phrases.push_back({verb, direction});
      phrases.push_back({verb, opposite, direction});
      if (with_around) phrases.push_back({verb, around, direction});
    }
  }
  std::vector<Tokens> sentences = phrases;
  for (const std::int32_t count : {twice, thrice}) {
    for (Tokens phrase : phrases) {
      phrase.push_back(count);
      sentences.push_back(std::move(phrase));
    }
  }
  std::vector<Tokens> commands = sentences;
  for (const Tokens& first : sentences) {
    for (const std::int32_t word : {both, after}) {
      for (const Tokens& second : sentences) {
        commands.push_back(first);
        commands.back().push_back(word);
        commands.back().insert(commands.back().end(), second.begin(), second.end());
      }
    }
  }
  return commands;
}

// The rule by which splits hold out commands; training and validation see none of those.
std::function<Split(const Example&)> split_rule(const std::string& held_out, std::size_t outputs) {
  if (held_out == "none") return {};
  return [by_length = held_out == "length", most = outputs == 48 ? 22u : 8u](const Example& input) {
    const bool jumps = std::ranges::count(input.ids, jump) > 0;
    if (by_length ? actions_of(input.ids).size() > most : jumps && input.ids[1] != slot) {
      return Split::test;
    }
    if (!by_length && jumps) return Split::train;
    return split_of(input) == Split::validation ? Split::validation : Split::train;
  };
}

Synthetic describe(const Options& options) {
  const bool with_around = get_bool(options, "around");
  const std::string& held_out = get_string(options, "held_out");
  const std::size_t outputs = with_around ? 48 : 18;
  const auto commands = std::make_shared<std::vector<Tokens>>(all_commands(with_around));
  const auto padded = [outputs](Tokens ids) {
    ids.resize(outputs, slot);
    return Example{.ids = std::move(ids)};
  };
  Synthetic task;
  task.shape.token_names = {"walk",     "look",   "run",   "jump",   "turn", "left",  "right",
                            "opposite", "around", "twice", "thrice", "and",  "after", "_"};
  task.shape.class_names = {"WALK", "LOOK", "RUN", "JUMP", "LTURN", "RTURN", "-"};
  task.shape.max_length = outputs;
  task.draw = [=](const Rng& rng) {
    if (held_out == "jump" && rng.below(10, 1) == 0) return padded({jump});
    return padded((*commands)[rng.below(commands->size(), 0)]);
  };
  task.solve = [outputs](const Tokens& ids) {
    check<DataError>(ids.size() == outputs, "there are ", ids.size(), " tokens, expected ", outputs,
                     ": a command, and then _");
    Tokens actions = actions_of(ids);
    actions.resize(outputs, none);
    return actions;
  };
  task.split = split_rule(held_out, outputs);
  return task;
}

}  // namespace

// SCAN (Lake and Baroni 2018) for encoders: output i is action i, so a command is followed by slots
// up to the longest sequence of actions.
TaskEntry scan_task() {
  return synthetic_task(
      {.name = "scan",
       .summary =
           "Turn a command such as \"run twice after walk left\" into its actions, in order.",
       .options =
           {{"around", true,
             "Whether commands contain \"around\": 20910 commands of up to 48 actions, as in SCAN. "
             "false: 10440 commands of up to 18 actions."},
            {.name = "held_out",
             .fallback = "none",
             .help = "Commands that only the test split has. none: any; jump: those that combine "
                     "\"jump\" with another word, while a tenth of the training draws is \"jump\" "
                     "alone; length: those of more than 22 actions (8 without around).",
             .choices = {"none", "jump", "length"}}},
       .needs = "Positions and three layers or more, to find which part of the command each action "
                "is from.",
       .theory = "open: encoders learn random splits; parts held out, such as the verb jump, are "
                 "hard unless the architecture helps (Ontanon et al. 2022, arXiv:2108.04378)",
       .source = "Lake and Baroni 2018, arXiv:1711.00350"},
      describe);
}

}  // namespace xgrad

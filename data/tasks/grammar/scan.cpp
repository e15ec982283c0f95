#include <algorithm>
#include <functional>
#include <map>
#include <memory>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/synthetic/synthetic.hpp>

namespace xgrad {

namespace {

enum Word : std::int32_t { walk, look, run, jump, turn, left, right, opposite, around };
enum Link : std::int32_t { twice = 9, thrice, both, after, slot };  // after phrases
// The first four actions are those of the first four words.
enum Action : std::int32_t { left_turn = 4, right_turn, none };

Tokens joined(Tokens first, const Tokens& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// A sequence of words, and the actions that it stands for.
struct Command {
  Tokens words, actions;

  // The command followed by more words, which repeat its actions this many times.
  Command repeated(const Tokens& more, int times) const {
    Command result{joined(words, more), {}};
    for (; times > 0; --times) result.actions = joined(std::move(result.actions), actions);
    return result;
  }
};

// All commands of the grammar.
std::vector<Command> all_commands() {
  std::vector<Command> phrases;
  for (std::int32_t verb = walk; verb <= turn; ++verb) {
    const Tokens own = verb == turn ? Tokens() : Tokens{verb};
    if (verb != turn) phrases.push_back({{verb}, own});
    for (const std::int32_t direction : {left, right}) {
      const std::int32_t turns = direction == left ? left_turn : right_turn;
      const Tokens once = joined({turns}, own);
      phrases.push_back({{verb, direction}, once});
      phrases.push_back({{verb, opposite, direction}, joined({turns}, once)});
      phrases.push_back(Command{{verb, around, direction}, once}.repeated({}, 4));
    }
  }
  std::vector<Command> commands = phrases;
  for (const Command& phrase : phrases) commands.push_back(phrase.repeated({twice}, 2));
  for (const Command& phrase : phrases) commands.push_back(phrase.repeated({thrice}, 3));
  const std::vector<Command> sentences = commands;
  for (const Command& first : sentences) {
    for (const std::int32_t word : {both, after}) {
      for (const Command& second : sentences) {
        commands.push_back({joined(joined(first.words, {word}), second.words),
                            word == both ? joined(first.actions, second.actions)
                                         : joined(second.actions, first.actions)});
      }
    }
  }
  return commands;
}

// The actions of a command. Slots may follow the command. Throws DataError.
const Tokens& actions_of(Tokens ids) {
  static const std::map<Tokens, Tokens> actions = [] {
    std::map<Tokens, Tokens> all;
    for (Command& command : all_commands()) {
      all.emplace(std::move(command.words), std::move(command.actions));
    }
    return all;
  }();
  while (!ids.empty() && ids.back() == slot) ids.pop_back();
  const auto found = actions.find(ids);
  check<DataError>(found != actions.end(),
                   "expected a command, such as walk left twice, and after it only _");
  return found->second;
}

// The split of each command. Training and validation have none of the commands that are held out.
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
             .help = "Commands that occur only in the test split. none: a tenth of all, chosen by "
                     "a hash; jump: all with \"jump\" and other words (\"jump\" alone is about a "
                     "sixth of the training examples); length: all of more than 22 actions (8 if "
                     "around is false).",
             .choices = {"none", "jump", "length"}}},
       .needs = "Positions and three layers or more, to find which part of the command each action "
                "is from.",
       .theory = "open: encoders learn random splits; parts held out, such as the verb jump, are "
                 "hard unless the architecture helps (Ontanon et al. 2022, arXiv:2108.04378)",
       .source = "Lake and Baroni 2018, arXiv:1711.00350"},
      [](const Options& options, Synthetic& task) {
        const bool with_around = get_bool(options, "around");
        const std::string held_out = get_string(options, "held_out");
        const std::size_t outputs = with_around ? 48 : 18;
        const auto inputs = std::make_shared<std::vector<Tokens>>();
        for (Command& command : all_commands()) {
          if (!with_around && std::ranges::count(command.words, around) > 0) continue;
          command.words.resize(outputs, slot);
          inputs->push_back(std::move(command.words));
        }
        const Tokens jumps = joined({jump}, Tokens(outputs - 1, slot));
        const auto jumping = std::size_t(std::ranges::find(*inputs, jumps) - inputs->begin());
        task.shape.token_names = {"walk",     "look",   "run",   "jump",   "turn", "left",  "right",
                                  "opposite", "around", "twice", "thrice", "and",  "after", "_"};
        task.shape.class_names = {"WALK", "LOOK", "RUN", "JUMP", "LTURN", "RTURN", "-"};
        task.shape.max_length = outputs;
        task.draw = [=](const Rng& rng) {
          const bool only_jump = held_out == "jump" && rng.below(10, 1) == 0;
          return Example{.ids = (*inputs)[only_jump ? jumping : rng.below(inputs->size(), 0)]};
        };
        task.solve = [outputs](const Tokens& ids) {
          check<DataError>(ids.size() == outputs, "there are ", ids.size(), " tokens, expected ",
                           outputs, ": a command, and then _");
          Tokens actions = actions_of(ids);
          actions.resize(outputs, none);
          return actions;
        };
        task.split = split_rule(held_out, outputs);
      });
}

}  // namespace xgrad

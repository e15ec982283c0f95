// The tasks that papers define draw every input with the probability that they declare.
#include <cmath>
#include <set>

#include "data/synthetic/laws.hpp"

namespace xgrad {
namespace {

using namespace test;

TEST(CitedLaws, AnIndexPointsToAnyPlace) {
  Law law;
  for (const std::int32_t length : {4, 5}) {
    each_sequence(std::size_t(length) - 1, 6, [&](Tokens ids) {
      const double p = std::pow(6, 1 - length) / (length - 1);
      ids.push_back(0);
      for (ids.back() = 6; ids.back() < 6 + length - 1; ++ids.back()) law[ids] = p;
    });
  }
  expect_law("index_lookup", {{"length", 5}, {"min_length", 4}, {"symbols", 6}}, law);
}

TEST(CitedLaws, HalfOfTheQueriesAreMembers) {
  constexpr std::int32_t kSymbols = 4;
  Law law;
  for (const std::size_t length : {5u, 6u}) {
    each_sequence(length, kSymbols, [&](const Tokens& ids) {
      const Tokens set(ids.begin(), ids.end() - 1);
      const auto same = double(std::count(set.begin(), set.end(), ids.back()));
      const double absent = kSymbols - double(std::set<int>(set.begin(), set.end()).size());
      const double as_member = absent == 0 ? 1 : 0.5;
      const double p = same > 0 ? as_member * same / double(set.size()) : 0.5 / absent;
      law[ids] = p * std::pow(kSymbols, -double(set.size()));
    });
  }
  expect_law("set_membership", {{"length", 6}, {"min_length", 5}, {"symbols", kSymbols}}, law);
}

TEST(CitedLaws, AStackHasAnySizeAndAnyActions) {
  Law law;
  for (const std::size_t length : {6u, 7u}) {
    for (std::size_t size = 1; size < length; ++size) {
      const double p = std::pow(2, -double(size)) * std::pow(3, double(size) - double(length));
      each_sequence(size, 2, [&](const Tokens& stack) {
        each_sequence(length - size, 3, [&](const Tokens& actions) {
          Tokens ids = stack;
          for (const std::int32_t action : actions) ids.push_back(2 + action);
          law[ids] += p / double(length - 1);
        });
      });
    }
  }
  expect_law("stack_manipulation", {{"length", 7}, {"min_length", 6}}, law);
}

// Brackets open and close evenly where both are possible.
void add_nested(const Tokens& ids, const Tokens& waiting, std::size_t length, double p, Law& law) {
  constexpr std::size_t kKinds = 3, kDepth = 2;
  if (ids.size() == length) {
    law[ids] += p;
    return;
  }
  const double opens = waiting.empty() ? 1 : waiting.size() == kDepth ? 0 : 0.5;
  for (std::int32_t kind = 0; opens > 0 && kind < std::int32_t(kKinds); ++kind) {
    Tokens longer = ids, deeper = waiting;
    longer.push_back(2 * kind);
    deeper.push_back(kind);
    add_nested(longer, deeper, length, p * opens / kKinds, law);
  }
  if (waiting.empty()) return;
  Tokens longer = ids, rest(waiting.begin(), waiting.end() - 1);
  longer.push_back(2 * waiting.back() + 1);
  add_nested(longer, rest, length, p * (1 - opens), law);
}

TEST(CitedLaws, NestedBracketsOpenAndCloseEvenly) {
  Law law;
  for (const std::size_t length : {7u, 8u}) add_nested({}, {}, length, 0.5, law);
  expect_law("dyck_nearest", {{"length", 8}, {"min_length", 7}, {"kinds", 3}, {"depth", 2}}, law);
}

// As for dyck, but a bracket that closes is of any open kind.
void add_shuffled(const Tokens& ids, std::size_t length, double p, Law& law) {
  if (ids.size() == length) {
    law[ids] += p / 2;
    for (std::size_t at = 0; at < length; ++at) {
      for (std::int32_t id = 0; id < 4; ++id) {
        Tokens other = ids;
        other[at] = id;
        law[other] += p / 2 / double(length) / 4;
      }
    }
    return;
  }
  Tokens open;
  for (const std::int32_t kind : {0, 1}) {
    if (std::count(ids.begin(), ids.end(), 2 * kind) >
        std::count(ids.begin(), ids.end(), 2 * kind + 1)) {
      open.push_back(kind);
    }
  }
  const auto go_on = [&](std::int32_t id, double share) {
    Tokens longer = ids;
    longer.push_back(id);
    add_shuffled(longer, length, p * share, law);
  };
  const double opens = open.empty() ? 1 : 0.4;
  for (const std::int32_t kind : {0, 1}) go_on(2 * kind, opens / 2);
  for (const std::int32_t kind : open) go_on(2 * kind + 1, 0.6 / double(open.size()));
}

TEST(CitedLaws, ShuffledBracketsCloseAnyKind) {
  Law law;
  for (const std::size_t length : {5u, 6u}) add_shuffled({}, length, 0.5, law);
  expect_law("shuffle_dyck", {{"length", 6}, {"min_length", 5}, {"kinds", 2}}, law);
}

// Whether some word of the language starts like this, by trying all short ends: after any prefix of
// a word, at most two more bits complete one.
bool is_open(const Task& task, const Tokens& ids) {
  for (const std::size_t more : {0u, 1u, 2u}) {
    bool found = false;
    each_sequence(more, 2, [&](const Tokens& end) {
      std::string line;
      for (const std::int32_t id : ids) line += std::to_string(id) + " ";
      for (const std::int32_t id : end) line += std::to_string(id) + " ";
      found = found || task.parse(line).targets.back() == 1;
    });
    if (found) return true;
  }
  return false;
}

class TomitaLaw : public testing::TestWithParam<int> {};

TEST_P(TomitaLaw, HalfOfTheSequencesTurnRandomAtAnyPlace) {
  constexpr std::size_t kLength = 10;
  const auto task = find_task("tomita").make(
      {{"length", std::int64_t(kLength + 3)}, {"language", std::int64_t(GetParam())}}, 1);
  std::map<Tokens, double> walks = {{{}, 1}};  // probabilities of prefixes of words
  Law law;
  for (std::size_t kept = 0; kept <= kLength; ++kept) {
    const double share = kept == kLength ? 0.5 : 0.5 / kLength;
    std::map<Tokens, double> longer;
    for (const auto& [walk, p] : walks) {
      each_sequence(kLength - kept, 2, [&, p = p, walk = walk](const Tokens& end) {
        Tokens ids = walk;
        ids.insert(ids.end(), end.begin(), end.end());
        law[ids] += share * p * std::pow(2, -double(end.size()));
      });
      std::vector<Tokens> open;
      for (const std::int32_t bit : {0, 1}) {
        Tokens next = walk;
        next.push_back(bit);
        if (is_open(*task, next)) open.push_back(next);
      }
      for (const Tokens& next : open) longer[next] += p / double(open.size());
    }
    walks = std::move(longer);
  }
  expect_law("tomita", {{"length", std::int64_t(kLength)}, {"language", std::int64_t(GetParam())}},
             law);
}

INSTANTIATE_TEST_SUITE_P(Languages, TomitaLaw, testing::Range(1, 8));

// A grammar apart from the task's: a phrase, how often, and what joins two of them.
std::vector<std::string> scan_commands() {
  std::vector<std::string> phrases = {"walk", "look", "run", "jump"}, commands;
  for (const char* verb : {"walk", "look", "run", "jump", "turn"}) {
    for (const char* way : {" left", " right", " opposite left", " opposite right"}) {
      phrases.push_back(std::string(verb) + way);
    }
  }
  std::vector<std::string> sentences;
  for (const std::string& phrase : phrases) {
    for (const char* count : {"", " twice", " thrice"}) sentences.push_back(phrase + count);
  }
  commands = sentences;
  for (const std::string& first : sentences) {
    for (const std::string& second : sentences) {
      commands.push_back(first + " and " + second);
      commands.push_back(first + " after " + second);
    }
  }
  return commands;
}

// The input of a command: its words and the slots.
Tokens scan_input(const Task& task, const std::string& command) {
  std::string line = command;
  for (auto words = std::count(line.begin(), line.end(), ' ') + 1; words < 18; ++words)
    line += " _";
  return task.parse(line).ids;
}

TEST(CitedLaws, EveryCommandOfScanIsEquallyLikely) {
  const Options options = {{"around", false}};
  const auto task = find_task("scan").make(options, 1);
  const std::vector<std::string> commands = scan_commands();
  EXPECT_EQ(commands.size(), 10440u);
  Law law;
  for (const std::string& command : commands) law[scan_input(*task, command)] += 1;
  expect_law("scan", options, law);
}

TEST(CitedLaws, ScanHoldsOutWhatItSays) {
  for (const std::string held_out : {"jump", "length"}) {
    const Options options = {{"around", false}, {"held_out", held_out}};
    const auto task = find_task("scan").make(options, 1);
    Law law;
    std::set<Tokens> test;
    const std::vector<std::string> commands = scan_commands();
    for (const std::string& command : commands) {
      const Tokens ids = scan_input(*task, command);
      law[ids] = 1;
      std::string line = command;
      const Tokens actions = [&] {
        for (auto words = std::count(line.begin(), line.end(), ' ') + 1; words < 18; ++words) {
          line += " _";
        }
        return task->parse(line).targets;
      }();
      const bool jumps = command.find("jump") != std::string::npos && command != "jump";
      const bool is_long = std::count(actions.begin(), actions.end(), 6) < 18 - 8;
      if (held_out == "jump" ? jumps : is_long) test.insert(ids);
    }
    const Tokens alone = scan_input(*task, "jump");
    if (held_out == "jump") law[alone] = 1 + double(commands.size()) / 9;
    expect_law("scan", options, law, [&](const Tokens& ids) {
      if (test.contains(ids)) return Split::test;
      const bool is_hidden = split_of(ids) == Split::validation && ids != alone;
      return is_hidden ? Split::validation : Split::train;
    });
  }
}

}  // namespace
}  // namespace xgrad

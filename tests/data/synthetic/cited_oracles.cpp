// Second implementations of the tasks that papers define.
#include <algorithm>
#include <map>
#include <regex>

#include "data/synthetic/oracles.hpp"

namespace xgrad {

namespace {

Options few(Options options) {
  options.insert({{"examples", 20000}, {"validation", 3000}, {"test", 3000}});
  return options;
}

Tokens odd_places_first(const Tokens& ids, const Options&) {
  Tokens result(ids.size());
  const std::size_t odd = (ids.size() + 1) / 2;
  for (std::size_t i = 0; i < ids.size(); ++i) result[i % 2 == 0 ? i / 2 : odd + i / 2] = ids[i];
  return result;
}

// Takes the symbol with the most tokens, and of those the first, until none is left.
Tokens by_frequency(const Tokens& all, const Options& options) {
  Tokens ids = all;
  Tokens result;
  while (!ids.empty()) {
    std::ptrdiff_t most = 0;
    for (const std::int32_t id : ids) most = std::max(most, std::count(ids.begin(), ids.end(), id));
    const std::int32_t next = *std::find_if(ids.begin(), ids.end(), [&](std::int32_t id) {
      return std::count(ids.begin(), ids.end(), id) == most;
    });
    result.push_back(next);
    std::erase(ids, next);
  }
  while (result.size() < all.size()) result.push_back(std::int32_t(get_int(options, "symbols")));
  return result;
}

Tokens ascending(const Tokens& all, const Options&) {
  Tokens ids = all;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (ids[j] > ids[i]) std::swap(ids[j], ids[i]);
    }
  }
  return ids;
}

Tokens at_index(const Tokens& ids, const Options& options) {
  std::size_t at = 0;
  for (std::int32_t id = ids.back(); id > get_int(options, "symbols"); --id) ++at;
  return {ids.at(at)};
}

Tokens is_member(const Tokens& ids, const Options&) {
  return {std::count(ids.begin(), ids.end(), ids.back()) > 1};
}

// The number of changes is even if and only if the first and last tokens are equal.
Tokens ends_as_it_starts(const Tokens& ids, const Options&) {
  return {ids.front() == ids.back()};
}

Tokens place_on_circle(const Tokens& ids, const Options&) {
  const auto on = std::count(ids.begin(), ids.end(), 1),
             back = std::count(ids.begin(), ids.end(), 2);
  return {std::int32_t(((on - back) % 5 + 5) % 5)};
}

// As text, whose end is the top of the stack.
Tokens stack_after_all(const Tokens& ids, const Options&) {
  std::string stack;
  for (const std::int32_t id : ids) {
    if (id != 2) stack += id == 0 || id == 3 ? '0' : '1';
    if (id == 2) stack = stack.substr(0, stack.empty() ? 0 : stack.size() - 1);
  }
  Tokens result(ids.size(), 2);
  for (std::size_t i = 0; i < stack.size(); ++i) result[stack.size() - 1 - i] = stack[i] - '0';
  return result;
}

// Removes pairs of each kind from what is left without the other kinds.
Tokens status_of_each_kind(const Tokens& ids, const Options&) {
  Tokens result;
  for (std::size_t end = 1; end <= ids.size(); ++end) {
    bool is_wrong = false, is_closed = true;
    for (std::int32_t kind = 0; kind < 4; ++kind) {
      std::string left;
      for (std::size_t i = 0; i < end; ++i) {
        if (ids[i] / 2 == kind) left += "()"[ids[i] % 2];
      }
      for (std::size_t at; (at = left.find("()")) != std::string::npos;) left.erase(at, 2);
      is_wrong = is_wrong || left.find(')') != std::string::npos;
      is_closed = is_closed && left.empty();
    }
    result.push_back(is_wrong ? 2 : is_closed ? 1 : 0);
  }
  return result;
}

// Walks back over whole pairs until a bracket opens that nothing has closed.
Tokens nearest_open(const Tokens& ids, const Options& options) {
  Tokens result;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::int32_t found = std::int32_t(get_int(options, "kinds"));
    int closed = 0;
    for (std::size_t j = i + 1; j-- > 0;) {
      closed += ids[j] % 2 == 1 ? 1 : -1;
      if (closed >= 0) continue;
      found = ids[j] / 2;
      break;
    }
    result.push_back(found);
  }
  return result;
}

// By the words of Tomita's description of language 3.
Tokens has_no_odd_runs(const Tokens& ids, const Options&) {
  Tokens result;
  std::string text;
  static const std::regex wrong("(^|.*0)1(11)*0(00)*(1.*|$)");
  for (const std::int32_t id : ids) {
    text += id == 0 ? '0' : '1';
    result.push_back(!std::regex_match(text, wrong));
  }
  return result;
}

// Rewrites the text of a command, part by part.
std::string actions(const std::string& command) {
  for (const char* word : {" and ", " after "}) {
    const std::size_t at = command.find(word);
    if (at == std::string::npos) continue;
    const std::string first = actions(command.substr(0, at));
    const std::string second = actions(command.substr(at + std::string(word).size()));
    return word[1] == 'a' && word[2] == 'n' ? first + second : second + first;
  }
  const std::size_t space = command.rfind(' ');
  const std::string last = command.substr(space + 1);
  const std::string before = space == std::string::npos ? "" : command.substr(0, space);
  if (last == "twice") return actions(before) + actions(before);
  if (last == "thrice") return actions(before) + actions(before) + actions(before);
  if (last == "left" || last == "right") {
    const std::string turn = last == "left" ? "L" : "R";
    if (before.ends_with(" opposite"))
      return turn + actions(before.substr(0, before.size() - 8) + last);
    if (!before.ends_with(" around")) return turn + actions(before);
    const std::string once = actions(before.substr(0, before.size() - 6) + last);
    return once + once + once + once;
  }
  static const std::map<std::string, std::string> verbs = {
      {"walk", "w"}, {"look", "l"}, {"run", "r"}, {"jump", "j"}, {"turn", ""}};
  return verbs.at(command);
}

Tokens actions_of_command(const Tokens& ids, const Options&) {
  static const auto names = find_task("scan").make({}, 1)->shape().token_names;
  std::string command;
  for (const std::int32_t id : ids) {
    if (names.at(std::size_t(id)) == "_") break;
    command += (command.empty() ? "" : " ") + names.at(std::size_t(id));
  }
  Tokens result(ids.size(), 6);
  const std::string found = actions(command);
  for (std::size_t i = 0; i < found.size(); ++i) {
    result[i] = std::int32_t(std::string("wlrjLR").find(found[i]));
  }
  return result;
}

std::vector<OracleRow> rows_to_kth() {
  const Options varied = {{"min_length", 2}, {"length", 12}, {"symbols", 7}};
  const Options bits = {{"min_length", 1}, {"length", 12}};
  const Options few_tokens = few({{"length", 5}, {"min_length", 3}, {"symbols", 6}});
  const Options few_bits = few({{"length", 12}, {"min_length", 10}});
  const std::string said = "token 2 is \"7\", must be a whole number from 0 to 6";
  const auto fourth = [](const Tokens& ids, const Options&) { return Tokens(1, ids[3]); };
  return {
      {"bucket_sort", varied, few_tokens, 8000, "3 7", said, ascending},
      {"cycle_navigation", bits, few({{"length", 8}}), 6500, "on off",
       "token 2 is \"off\", must be one of: on stay back", place_on_circle},
      {"dyck_nearest",
       {{"min_length", 1}, {"length", 12}, {"kinds", 3}, {"depth", 3}},
       few({{"length", 6}, {"kinds", 3}, {"depth", 3}}),
       780,
       "(1 (2 )1",
       "token 3 does not close the nearest open bracket",
       nearest_open},
      {"even_pairs", bits, few_bits, 6800, "1 2",
       "token 2 is \"2\", must be a whole number from 0 to 1", ends_as_it_starts},
      {"index_lookup", varied, few({{"length", 5}, {"symbols", 6}}), 5000, "1 2 @3",
       "the last token must be an index from @1 to @2", at_index},
      {"kth_element",
       {{"min_length", 4}, {"length", 12}, {"symbols", 7}, {"k", 4}},
       few({{"length", 5}, {"symbols", 6}, {"k", 4}}),
       7700,
       "3 1 2",
       "expected at least 4 tokens",
       fourth},
  };
}

std::vector<OracleRow> rows_from_odds() {
  const Options varied = {{"min_length", 2}, {"length", 12}, {"symbols", 7}};
  const Options few_tokens = few({{"length", 5}, {"min_length", 3}, {"symbols", 6}});
  const std::string said = "token 2 is \"7\", must be a whole number from 0 to 6";
  return {
      {"odds_first", varied, few_tokens, 8000, "3 7", said, odd_places_first},
      {"scan",
       {},
       few({{"around", false}}),
       9000,
       "walk jump",
       "there are 2 tokens, expected 48: a command, and then _",
       actions_of_command},
      {"set_membership", varied, few_tokens, 8000, "3 7", said, is_member},
      {"shuffle_dyck",
       {{"min_length", 1}, {"length", 12}, {"kinds", 3}},
       few({{"length", 6}}),
       1500,
       "( x",
       "token 2 is \"x\", must be one of: ( ) [ ] { }",
       status_of_each_kind},
      {"sort_by_frequency", varied, few_tokens, 8000, "3 7", said, by_frequency},
      {"stack_manipulation",
       {{"min_length", 2}, {"length", 12}},
       few({{"length", 8}}),
       8000,
       "1 pop 0",
       "token 3 is part of the stack, which must come before all actions",
       stack_after_all},
      {"tomita",
       {{"min_length", 1}, {"length", 12}, {"language", 3}},
       few({{"length", 12}, {"min_length", 10}, {"language", 3}}),
       5000,
       "1 2",
       "token 2 is \"2\", must be a whole number from 0 to 1",
       has_no_odd_runs},
  };
}

}  // namespace

std::vector<OracleRow> cited_rows() {
  std::vector<OracleRow> rows = rows_to_kth();
  for (OracleRow& row : rows_from_odds()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace xgrad

#include "data/synthetic/oracles.hpp"

#include <algorithm>
#include <map>

namespace xgrad {

namespace {

const Options kVaried = {{"min_length", 1}, {"length", 12}, {"symbols", 7}};
// 216 + 1296 + 7776 inputs
const Options kFew = {{"length", 5},       {"min_length", 3},    {"symbols", 6},
                      {"examples", 20000}, {"validation", 3000}, {"test", 3000}};

Options with(Options options, const Options& more) {
  for (const auto& [name, value] : more) options[name] = value;
  return options;
}

std::map<std::int32_t, int> count(const Tokens& ids) {
  std::map<std::int32_t, int> counts;
  for (std::int32_t id : ids) ++counts[id];
  return counts;
}

Tokens same(const Tokens& ids, const Options&) {
  return ids;
}

Tokens reversed(const Tokens& ids, const Options&) {
  Tokens result;
  for (std::size_t i = 0; i < ids.size(); ++i) result.push_back(ids[ids.size() - 1 - i]);
  return result;
}

Tokens sorted(const Tokens& ids, const Options&) {
  Tokens result;
  for (const auto& [id, n] : count(ids)) result.insert(result.end(), std::size_t(n), id);
  return result;
}

Tokens rotated(Tokens ids, std::int64_t shift) {
  for (; shift > 0; --shift) std::rotate(ids.begin(), ids.begin() + 1, ids.end());
  return ids;
}

Tokens own_counts(const Tokens& ids, const Options&) {
  const auto counts = count(ids);
  Tokens result;
  for (std::int32_t id : ids) result.push_back(counts.at(id) - 1);
  return result;
}

Tokens symbols_of_own_count(const Tokens& ids, const Options&) {
  const auto counts = count(ids);
  Tokens result;
  for (std::int32_t id : ids) {
    result.push_back(
        std::int32_t(std::count_if(counts.begin(), counts.end(),
                                   [&](const auto& c) { return c.second == counts.at(id); }) -
                     1));
  }
  return result;
}

Tokens first_of_each(const Tokens& ids, const Options& options) {
  const auto end = std::int32_t(get_int(options, "symbols"));
  Tokens result;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    bool before = false;
    for (std::size_t j = 0; j < i; ++j) before = before || ids[j] == ids[i];
    if (!before) result.push_back(ids[i]);
  }
  result.push_back(end);
  return result;
}

std::vector<OracleRow> token_rows() {
  const std::string bad = "3 7", said = "token 2 is \"7\", must be a whole number from 0 to 6";
  const auto turned = [](const Tokens& ids, const Options& options) {
    return rotated(ids, get_int(options, "shift"));
  };
  return {
      {"copy", kVaried, kFew, 8000, bad, said, same},
      {"distinct", kVaried, kFew, 8000, bad, said, first_of_each},
      {"double_histogram", with(kVaried, {{"symbols", 4}}), kFew, 8000, "1 4",
       "token 2 is \"4\", must be a whole number from 0 to 3", symbols_of_own_count},
      {"histogram", with(kVaried, {{"length", 9}, {"symbols", 2}}), kFew, 8000, "1 2",
       "token 2 is \"2\", must be a whole number from 0 to 1", own_counts},
      {"reverse", kVaried, kFew, 8000, bad, said, reversed},
      {"rotate", with(kVaried, {{"shift", 5}}), kFew, 8000, bad, said, turned},
      {"sort", kVaried, kFew, 8000, bad, said, sorted},
  };
}

Tokens has_more_ones(const Tokens& ids, const Options&) {
  std::int32_t lead = 0;
  for (std::int32_t id : ids) lead += id == 1 ? 1 : -1;
  return {lead > 0};
}

Tokens most_frequent(const Tokens& ids, const Options&) {
  std::int32_t best = -1;
  int times = 0;
  for (const auto& [id, n] : count(ids)) {
    if (n > times) best = id, times = n;
  }
  return {best};
}

Tokens is_odd(const Tokens& ids, const Options&) {
  bool odd = false;
  for (std::int32_t id : ids) odd = odd != (id == 1);
  return {odd};
}

// Those of instance 1 at lengths from 12; others would give a saved model another task.
Tokens is_odd_at_hidden_places(const Tokens& ids, const Options&) {
  return {(ids[4] + ids[7] + ids[11]) % 2};
}

Tokens sum_modulo(const Tokens& ids, const Options& options) {
  const auto p = std::int32_t(get_int(options, "modulus"));
  if (ids.size() != 3 || ids[2] != p) return {};
  const std::int32_t sum = ids[0] + ids[1];
  return {sum >= p ? sum - p : sum};
}

Tokens sentiment(const Tokens& ids, const Options&) {
  static const auto names = find_task("negation").make({}, 1)->shape().token_names;
  static const std::string good = " good great lovely clever bright warm funny moving ";
  static const std::string bad = " bad poor awful dull silly weak boring flat ";
  int score = 0, sign = 1;
  for (std::int32_t id : ids) {
    const std::string& word = names.at(std::size_t(id));
    if (good.find(" " + word + " ") != std::string::npos) score += sign;
    if (bad.find(" " + word + " ") != std::string::npos) score -= sign;
    sign = word == "not" ? -1 : 1;
  }
  return {score > 0 ? 2 : score < 0 ? 0 : 1};
}

constexpr const char* kUnknownWord =
    "token 4 is \"god\", must be one of: good not bad and poor the plot is great warm dull weak "
    "flat movie actor very lovely bright funny moving ...";

std::vector<OracleRow> class_rows() {
  const Options bits = {{"min_length", 1}, {"length", 12}};
  const Options few_bits = {{"length", 12},
                            {"min_length", 10},
                            {"examples", 20000},
                            {"validation", 3000},
                            {"test", 3000}};
  const std::string said = "token 2 is \"2\", must be a whole number from 0 to 1";
  const auto front = [](const Tokens& ids, const Options&) { return Tokens(1, ids[0]); };
  Options few_sparse = few_bits;
  few_sparse.erase("min_length");
  return {
      {"first", kVaried, kFew, 8000, "3 7", "token 2 is \"7\", must be a whole number from 0 to 6",
       front},
      {"majority", bits, few_bits, 6800, "1 2", said, has_more_ones},
      {"modular_addition",
       {},
       {{"modulus", 41}},
       41 * 41,
       "3 = 7",
       "expected two numbers and =",
       sum_modulo},
      {"most_frequent", kVaried, kFew, 8000, "3 7",
       "token 2 is \"7\", must be a whole number from 0 to 6", most_frequent},
      {"negation",
       {{"min_length", 1}, {"length", 8}},
       {{"length", 3}, {"examples", 30000}, {"validation", 4000}, {"test", 4000}},
       12000,
       "the movie is god",
       kUnknownWord,
       sentiment},
      {"parity", bits, few_bits, 6800, "1 2", said, is_odd},
      {"sparse_parity",
       {{"length", 14}},
       few_sparse,
       4000,
       "1 0 1",
       "there are 3 tokens, expected 14",
       is_odd_at_hidden_places},
  };
}

}  // namespace

const std::vector<OracleRow>& oracle_rows() {
  static const std::vector<OracleRow> rows = [] {
    std::vector<OracleRow> all;
    for (auto part :
         {token_rows, class_rows, structured_rows, cited_rows, language_rows, other_rows}) {
      for (OracleRow& row : part()) all.push_back(std::move(row));
    }
    return all;
  }();
  return rows;
}

void PrintTo(const OracleRow& row, std::ostream* stream) {
  *stream << row.name;
}

}  // namespace xgrad

#include <algorithm>

#include <xgrad/data/batch.hpp>

#include "data/synthetic/oracles.hpp"

namespace xgrad {

namespace {

Tokens behind_the_marker(const Tokens& ids, const Options& options) {
  for (std::size_t i = ids.size(); i-- > 1;) {
    if (ids[i - 1] == get_int(options, "symbols")) return {ids[i]};
  }
  return {};
}

Tokens behind_the_same(const Tokens& ids, const Options&) {
  for (std::size_t i = ids.size() - 2; i > 0; --i) {
    if (ids[i - 1] == ids.back()) return {ids[i]};
  }
  return {};
}

Tokens recalled(const Tokens& ids, const Options& options) {
  const auto pairs = std::size_t(get_int(options, "pairs"));
  const auto keys = std::int32_t(get_int(options, "keys"));
  Tokens result(2 * pairs, kIgnore);
  for (std::size_t query = 2 * pairs; query < ids.size(); ++query) {
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      if (ids[2 * pair] == ids[query]) result.push_back(ids[2 * pair + 1] - keys);
    }
  }
  return result;
}

Tokens copied_to_the_end(const Tokens& ids, const Options& options) {
  const auto symbols = get_int(options, "symbols");
  Tokens result(ids.size(), kIgnore);
  std::size_t to = ids.size();
  for (std::size_t from = ids.size(); from-- > 0;) {
    if (ids[from] < symbols) result[--to] = ids[from];
  }
  return result;
}

Tokens sum_of_numbers(const Tokens& ids, const Options& options) {
  const auto n = std::size_t(get_int(options, "digits"));
  std::string text;
  for (std::int32_t id : ids) text += "0123456789+=_"[id];
  const long sum = std::stol(text.substr(0, n)) + std::stol(text.substr(n + 1, n));
  std::string digits = std::to_string(sum);
  digits.insert(0, n + 1 - digits.size(), '0');
  Tokens result(2 * n + 2, kIgnore);
  for (char digit : digits) result.push_back(digit - '0');
  return text.substr(n, 1) + text.substr(2 * n + 1) == "+=" + std::string(n + 1, '_') ? result
                                                                                      : Tokens();
}

// Takes pairs out of each prefix until none is left.
Tokens status_of_prefixes(const Tokens& ids, const Options&) {
  Tokens result;
  std::string text;
  for (std::int32_t id : ids) {
    text += "()[]{}<>"[id];
    std::string left = text;
    for (bool changed = true; changed;) {
      changed = false;
      for (const char* pair : {"()", "[]", "{}", "<>"}) {
        const std::size_t at = left.find(pair);
        if (at == std::string::npos) continue;
        left.erase(at, 2);
        changed = true;
      }
    }
    result.push_back(left.empty() ? 1 : left.find_first_of(")]}>") == std::string::npos ? 0 : 2);
  }
  return result;
}

// By recursive descent.
std::int32_t evaluate(const Tokens& ids, std::size_t& at) {
  const std::int32_t token = ids.at(at++);
  if (token < 10) return token;
  Tokens values;
  while (ids.at(at) != 14) values.push_back(evaluate(ids, at));
  ++at;
  if (token == 10) return *std::min_element(values.begin(), values.end());
  if (token == 11) return *std::max_element(values.begin(), values.end());
  if (token == 13) {
    std::int32_t sum = 0;
    for (std::int32_t value : values) sum = (sum + value) % 10;
    return sum;
  }
  while (values.size() > 2) {  // the least and the most go
    values.erase(std::min_element(values.begin(), values.end()));
    values.erase(std::max_element(values.begin(), values.end()));
  }
  return values.size() == 1 ? values[0] : (values[0] + values[1]) / 2;
}

Tokens value(const Tokens& ids, const Options&) {
  std::size_t at = 0;
  const std::int32_t result = evaluate(ids, at);
  return at == ids.size() ? Tokens{result} : Tokens();
}

Options few(Options options) {
  options.insert({{"examples", 20000}, {"validation", 3000}, {"test", 3000}});
  return options;
}

std::vector<OracleRow> rows_to_markov() {
  return {
      {"addition",
       {{"digits", 5}},
       few({}),
       9950,
       "1 + 2 3 = _",
       "expected two numbers with equally many digits, as in 0 7 + 3 5 = _ _ _",
       sum_of_numbers},
      {"dyck",
       {{"min_length", 1}, {"length", 12}, {"kinds", 3}},
       few({{"length", 6}}),
       1000,
       "( x",
       "token 2 is \"x\", must be one of: ( ) [ ] { }",
       status_of_prefixes},
      {"hmm",
       {{"min_length", 2}, {"length", 12}},
       few({{"length", 4}, {"symbols", 6}, {"states", 3}}),
       1000,
       "3 8",
       "token 2 is \"8\", must be a whole number from 0 to 7"},
      {"induction",
       {{"min_length", 3}, {"length", 12}, {"symbols", 7}},
       few({{"length", 5}, {"symbols", 6}}),
       2200,
       "1 2 3",
       "the last token must occur exactly once before, and not right before itself",
       behind_the_same},
      {"listops",
       {{"depth", 3}, {"arguments", 3}},
       few({{"depth", 1}, {"arguments", 3}}),
       4200,
       "[MAX 1 2",
       "a ] is missing",
       value},
      {"markov",
       {{"min_length", 2}, {"length", 12}, {"states", 5}},
       few({{"length", 4}, {"states", 6}}),
       950,
       "3 6",
       "token 2 is \"6\", must be one of: 0 1 2 3 4 _"},
  };
}

std::vector<OracleRow> rows_from_mqar() {
  return {
      {"mqar",
       {{"pairs", 3}, {"queries", 2}, {"keys", 6}, {"values", 5}},
       few({{"pairs", 2}, {"queries", 2}, {"keys", 5}, {"values", 6}}),
       1400,
       "k0 v1 v2",
       "token 3 is a value without a key before it",
       recalled},
      {"needle",
       {{"min_length", 2}, {"length", 12}, {"symbols", 7}},
       few({{"length", 5}, {"symbols", 6}}),
       5000,
       "3 * 4 *",
       "expected one *, with a number after it",
       behind_the_marker},
      {"selective_copy",
       {{"length", 8}, {"marked", 3}, {"symbols", 5}},
       few({{"length", 6}, {"marked", 3}, {"symbols", 5}}),
       2450,
       "1 - _ _",
       "expected 1 _ at the end, one for each number",
       copied_to_the_end},
  };
}

}  // namespace

std::vector<OracleRow> structured_rows() {
  std::vector<OracleRow> rows = rows_to_markov();
  for (OracleRow& row : rows_from_mqar()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace xgrad

#include "data/oracles.hpp"

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

std::vector<OracleRow> token_rows() {
  const std::string bad = "3 7", said = "token 2 is \"7\", must be a whole number from 0 to 6";
  const auto turned = [](const Tokens& ids, const Options& options) {
    return rotated(ids, get_int(options, "shift"));
  };
  return {
      {"copy", kVaried, kFew, 8000, bad, said, same},
      {"histogram", with(kVaried, {{"length", 9}, {"symbols", 2}}), kFew, 8000, "1 2",
       "token 2 is \"2\", must be a whole number from 0 to 1", own_counts},
      {"reverse", kVaried, kFew, 8000, bad, said, reversed},
      {"rotate", with(kVaried, {{"shift", 5}}), kFew, 8000, bad, said, turned},
      {"sort", kVaried, kFew, 8000, bad, said, sorted},
  };
}

}  // namespace

const std::vector<OracleRow>& oracle_rows() {
  static const std::vector<OracleRow> rows = [] {
    std::vector<OracleRow> all;
    for (auto part : {token_rows}) {
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

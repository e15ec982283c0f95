// All rows of a file at once.
#pragma once

#include <xgrad/data/tables/table.hpp>

namespace xgrad::test {

inline Table whole_table(const Rows& rows) {
  Table all;
  const std::uint64_t fingerprint = rows([&](const Table& block) {
    EXPECT_EQ(block.first, all.rows.size());
    all.file = block.file;
    all.columns = block.columns;
    all.rows.insert(all.rows.end(), block.rows.begin(), block.rows.end());
    all.lines.insert(all.lines.end(), block.lines.begin(), block.lines.end());
  });
  all.fingerprint = fingerprint;
  return all;
}

inline Table read_table(const std::string& path, const std::vector<std::string>& columns) {
  return whole_table(open_table(path, "auto", columns));
}

}  // namespace xgrad::test

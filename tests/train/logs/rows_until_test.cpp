#include <xgrad/train/logs/metrics_row.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

#include <xgrad/storage/disk/folder.hpp>

#include <support/temporary_directory.hpp>

namespace xgrad {
namespace {

using Numbers = std::vector<std::uint64_t>;

std::string row(std::uint64_t step, const std::string& split = "train") {
  return "{\"step\":" + std::to_string(step) + ",\"split\":\"" + split + "\"}";
}

/// Looks at a log of these lines; returns the number of lines up to the end in front of the bad
/// ones.
Numbers found(const std::vector<std::string>& lines, std::uint64_t step, bool validated = true) {
  const test::TemporaryDirectory folder;
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  folder.write("log", text);
  const RowsUntil rows = rows_until(Folder(folder.path()), "log", step, validated);
  Numbers all = rows.bad;
  all.insert(all.begin(), std::uint64_t(std::count(text.begin(), text.begin() + rows.end, '\n')));
  return all;
}

TEST(RowsUntil, ALaterStepEndsThem) {
  const std::vector<std::string> lines = {row(1), row(2), row(2, "validation"), row(3), row(4)};
  EXPECT_EQ(found(lines, 0), Numbers{0});
  EXPECT_EQ(found(lines, 2), Numbers{3});
  EXPECT_EQ(found(lines, 2, /*validated=*/false), Numbers{2});
  EXPECT_EQ(found(lines, 4), Numbers{5});
  EXPECT_EQ(found({row(1), row(2, "test")}, 2), Numbers{1}) << "it is written again";
  EXPECT_EQ(found({}, 2), Numbers{0});
}

TEST(RowsUntil, LinesThatAreNoRowsEndNothing) {
  for (const std::string& bad :
       {std::string(), std::string("# mine"), std::string("\0", 1) + row(2), row(900)}) {
    EXPECT_EQ(found({row(1), bad, row(3)}, 3), (Numbers{3, 2})) << bad;
    EXPECT_EQ(found({bad, row(2), row(3), row(4)}, 3), (Numbers{3, 1})) << bad;
  }
  EXPECT_EQ(found({row(1), "", "", row(2), row(3), ""}, 2), (Numbers{4, 2, 3}));
  EXPECT_EQ(found({row(1), "x", row(3), "y"}, 2), (Numbers{2, 2})) << "it may be row 2";
  EXPECT_EQ(found({row(1), row(3), "y", row(4)}, 2), Numbers{1}) << "a later step is undone";
}

TEST(RowsUntil, ARowBetweenOthersOfWrongSteps) {
  EXPECT_EQ(found({row(1), row(2), row(7), row(4), row(5)}, 9), (Numbers{5, 3}));
  EXPECT_EQ(found({row(1), row(5), row(6), row(2), row(8)}, 9), (Numbers{5, 4}));
  EXPECT_EQ(found({row(1), row(2), row(3), row(1)}, 3), (Numbers{4, 4}));
  EXPECT_EQ(found({row(1), row(2), row(4), row(5), row(1), row(6)}, 3), Numbers{2})
      << "it is among undone steps";
  EXPECT_EQ(found({row(1), row(1)}, 3).size(), 2u) << "each is written once";
}

TEST(RowsUntil, AsFewRowsAsPossibleAreMisplaced) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::uint64_t> steps(7);
    for (auto& step : steps) step = random() % 9;
    std::size_t most = 0;
    for (unsigned chosen = 0; chosen < 128; ++chosen) {
      std::vector<std::uint64_t> some;
      for (unsigned i = 0; i < 7; ++i) {
        if (chosen >> i & 1) some.push_back(steps[i]);
      }
      const bool rises =
          std::adjacent_find(some.begin(), some.end(), std::greater_equal()) == some.end();
      if (rises) most = std::max(most, some.size());
    }
    std::vector<std::string> lines;
    for (const std::uint64_t step : steps) lines.push_back(row(step));
    EXPECT_EQ(found(lines, 9).size() - 1, 7 - most) << testing::PrintToString(steps);
  }
}

TEST(RowsUntil, ALastLineWithoutItsEnd) {
  const test::TemporaryDirectory folder;
  const auto look = [&](const std::string& text) {
    folder.write("log", text);
    return rows_until(Folder(folder.path()), "log", 2);
  };
  const std::string first = row(1) + "\n";
  for (const std::string& torn : {row(2).substr(0, 8), std::string(30, '\0'), row(3)}) {
    const RowsUntil rows = look(first + torn);
    EXPECT_EQ(rows.end, first.size()) << torn;
    EXPECT_TRUE(rows.has_end && rows.bad.empty()) << torn;
  }
  const RowsUntil rows = look(first + row(2));
  EXPECT_EQ(rows.end, first.size() + row(2).size());
  EXPECT_FALSE(rows.has_end);
}

}  // namespace
}  // namespace xgrad

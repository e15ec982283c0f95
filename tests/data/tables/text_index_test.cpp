#include <gtest/gtest.h>

#include <unordered_map>

#include <xgrad/autograd/random.hpp>
#include <xgrad/data/tables/text_index.hpp>

namespace xgrad {
namespace {

TEST(TextIndex, NumbersTextsInTheOrderInWhichTheyCome) {
  const Rng rng(17);
  std::uint64_t drawn = 0;
  const auto below = [&](std::uint64_t bound) { return rng.below(bound, drawn++); };
  TextIndex index;
  std::unordered_map<std::string, std::size_t> known;
  for (int i = 0; i < 100'000; ++i) {
    const std::string text =
        std::to_string(below(30'000)) + std::string(below(20) == 0 ? 30 : 0, 'x');
    EXPECT_EQ(index.find(text), known.contains(text) ? known.at(text) : TextIndex::kNone);
    const std::size_t number = known.emplace(text, known.size()).first->second;
    ASSERT_EQ(index.add(text), number);
    ASSERT_EQ(index.text(number), text);
    ASSERT_EQ(index.size(), known.size());
  }
  EXPECT_EQ(index.find(""), TextIndex::kNone);
  EXPECT_EQ(index.add(""), known.size());
}

}  // namespace
}  // namespace xgrad

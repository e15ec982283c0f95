#include <gtest/gtest.h>

#include <unordered_map>

#include <xgrad/autograd/random.hpp>
#include <xgrad/data/index.hpp>

namespace xgrad {
namespace {

TEST(Index, NumbersTextsInTheOrderInWhichTheyCome) {
  const Rng rng(17);
  std::uint64_t drawn = 0;
  const auto below = [&](std::uint64_t bound) { return rng.below(bound, drawn++); };
  Index<std::string> index;
  std::unordered_map<std::string, std::size_t> known;
  for (int i = 0; i < 100'000; ++i) {
    const std::string text =
        std::to_string(below(30'000)) + std::string(below(20) == 0 ? 30 : 0, 'x');
    EXPECT_EQ(index.find(text), known.contains(text) ? known.at(text) : Index<std::string>::kNone);
    const std::size_t number = known.emplace(text, known.size()).first->second;
    ASSERT_EQ(index.add(text), number);
    ASSERT_EQ(index.key(number), text);
    ASSERT_EQ(index.size(), known.size());
  }
  EXPECT_EQ(index.find(""), Index<std::string>::kNone);
  EXPECT_EQ(index.add(""), known.size());
}

TEST(Index, NumbersNumbers) {
  const Rng rng(18);
  Index<std::uint64_t> index;
  std::unordered_map<std::uint64_t, std::size_t> known;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const std::uint64_t key = rng.below(30'000, i) << rng.below(40, i + 100'000);
    EXPECT_EQ(index.find(key), known.contains(key) ? known.at(key) : index.kNone);
    const std::size_t number = known.emplace(key, known.size()).first->second;
    ASSERT_EQ(index.add(key), number);
    ASSERT_EQ(index.key(number), key);
  }
}

}  // namespace
}  // namespace xgrad

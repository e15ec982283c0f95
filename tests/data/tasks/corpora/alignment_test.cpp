#include <gtest/gtest.h>

#include <cmath>

#include <xgrad/data/tasks/corpora/cmu.hpp>

namespace xgrad {
namespace {

using Labels = std::vector<std::int32_t>;

// Letters a b x, phones A B K S: a and b sound as A and B, x as K S, a second b is silent.
const std::vector<Pronunciation> kWords = {{{0}, {0}},
                                           {{1}, {1}},
                                           {{2}, {2, 3}},
                                           {{0, 1}, {0, 1}},
                                           {{0, 1, 1}, {0, 1}},
                                           {{2, 0}, {2, 3, 0}},
                                           {{0, 2, 1}, {0, 2, 3, 1}}};

TEST(Alignment, FindsSilentLettersAndPairs) {
  Alignment alignment(3, 4);
  double last = -INFINITY;
  for (int round = 0; round < 20; ++round) {
    const double likelihood = alignment.fit(kWords);
    EXPECT_GE(likelihood, last - 1e-9) << "EM never makes the data less likely";
    last = likelihood;
  }
  const std::int32_t ks = 1 + 4 + 4 * 2 + 3;
  EXPECT_EQ(alignment.phones(ks), (Labels{2, 3}));
  EXPECT_EQ(alignment.phones(0), Labels());
  EXPECT_EQ(alignment.phones(2), (Labels{1}));
  EXPECT_EQ(alignment.best({{0, 1, 1}, {0, 1}}), (Labels{1, 2, 0})) << "the first b sounds";
  EXPECT_EQ(alignment.best({{2, 2, 0}, {2, 3, 2, 3, 0}}), (Labels{ks, ks, 1}));
}

// With one letter and one phone there are three alignments of "aa" to A A: each by itself, or a
// pair and a silent letter, on either side.
TEST(Alignment, TheLikelihoodIsTheSumOverAlignments) {
  Alignment alignment(1, 1);
  const double none = 0.2, one = 0.75, two = 0.05;
  EXPECT_NEAR(alignment.fit({{{0, 0}, {0, 0}}}), std::log(one * one + 2 * none * two), 1e-12);
  // What EM expects: of two letters, 2 one^2 / sum sound once, and 2 none two / sum twice.
  const double sum = one * one + 2 * none * two;
  const double p1 = one * one / sum, p2 = none * two / sum, p0 = p2;
  EXPECT_NEAR(alignment.fit({{{0}, {0}}}), std::log(p1), 1e-12);
  EXPECT_NEAR(p0 + p1 + p2, 1, 1e-12);
}

TEST(Alignment, RareLabelsBecomeImpossible) {
  Alignment alignment(3, 4);
  for (int round = 0; round < 10; ++round) alignment.fit(kWords);
  alignment.fit(kWords, 2.5);
  EXPECT_FALSE(alignment.best({{0}, {1}})) << "a never sounds as B";
  EXPECT_FALSE(alignment.best({{0}, {0, 1, 2}})) << "three phones";
  EXPECT_TRUE(alignment.best({{2}, {2, 3}}));
}

TEST(Stem, FormsOfAWordHaveOne) {
  const std::vector<std::vector<std::string>> families = {
      {"abandon", "abandons", "abandoned", "abandoning", "abandonment"},
      {"stop", "stops", "stopped", "stopping", "stopper", "stoppers"},
      {"bake", "bakes", "baked", "baking", "baker", "bakers"},
      {"happy", "happier", "happiest", "happiness", "happily"},
      {"carry", "carries", "carried", "carrying", "carrier", "carriers"},
      {"modern", "modernize", "modernized", "modernization", "modernizing"}};
  std::vector<std::string> stems;
  for (const auto& family : families) {
    for (const std::string& word : family) EXPECT_EQ(stem(word), stem(family[0])) << word;
    for (const std::string& other : stems) EXPECT_NE(stem(family[0]), other);
    stems.push_back(stem(family[0]));
  }
  for (const char* word : {"a", "is", "the", "king", "red"})
    EXPECT_EQ(stem(word).substr(0, 1)[0], word[0]);
}

}  // namespace
}  // namespace xgrad

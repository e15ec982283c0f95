#include <gtest/gtest.h>

#include <xgrad/autograd/nearest.hpp>

namespace xgrad {
namespace {

TEST(Nearest, EditDistance) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("reverse", "revrese"), 1) << "neighbours swapped";
  EXPECT_EQ(edit_distance("lr", "rl"), 1);
  EXPECT_EQ(edit_distance("heads", "layers"), 5);
}

TEST(Nearest, TheOneMostLikeTheName) {
  const std::vector<std::string> names = {"width", "heads", "layers", "feedforward"};
  EXPECT_EQ(nearest("layer", names), "layers");
  EXPECT_EQ(nearest("feedfoward", names), "feedforward");
  EXPECT_EQ(nearest("head", names), "heads");
  EXPECT_EQ(nearest("dropout", names), "");
  EXPECT_EQ(nearest("x", {}), "");
}

TEST(Nearest, OrdersCandidatesAndKeepsTies) {
  EXPECT_EQ(nearest_first("sort", {"copy", "reverse", "sorted", "mist"}),
            (std::vector<std::string>{"sorted", "copy", "mist", "reverse"}));
}

}  // namespace
}  // namespace xgrad

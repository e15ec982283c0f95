#include <xgrad/train/ranks/shard_tree.hpp>

#include <gtest/gtest.h>

#include <string>

namespace xgrad {
namespace {

std::string text_of(const Range& node) {
  if (node.size() == 1) return std::to_string(node.begin);
  const std::size_t cut = cut_of(node);
  return "(" + text_of({node.begin, cut}) + " " + text_of({cut, node.end}) + ")";
}

TEST(ShardTree, ItsShapeIsFixed) {
  EXPECT_EQ(text_of({0, 1}), "0");
  EXPECT_EQ(text_of({0, 2}), "(0 1)");
  EXPECT_EQ(text_of({0, 3}), "((0 1) 2)");
  EXPECT_EQ(text_of({0, 5}), "(((0 1) (2 3)) 4)");
  EXPECT_EQ(text_of({0, 6}), "(((0 1) (2 3)) (4 5))");
  EXPECT_EQ(text_of({0, 8}), "(((0 1) (2 3)) ((4 5) (6 7)))");
}

TEST(ShardTree, ARangeIsMadeOfItsLargestNodes) {
  EXPECT_EQ(nodes_of({0, 8}, {0, 8}), (std::vector<Range>{{0, 8}}));
  EXPECT_EQ(nodes_of({1, 8}, {0, 8}), (std::vector<Range>{{1, 2}, {2, 4}, {4, 8}}));
  EXPECT_EQ(nodes_of({3, 6}, {0, 8}), (std::vector<Range>{{3, 4}, {4, 6}}));
  EXPECT_EQ(nodes_of({4, 6}, {0, 6}), (std::vector<Range>{{4, 6}}));
  EXPECT_EQ(nodes_of({2, 2}, {0, 8}), (std::vector<Range>{}));
  EXPECT_TRUE(is_node({4, 5}, 5));
  EXPECT_TRUE(is_node({4, 6}, 6));
  EXPECT_FALSE(is_node({1, 3}, 4));
  EXPECT_FALSE(is_node({3, 5}, 5));
}

}  // namespace
}  // namespace xgrad

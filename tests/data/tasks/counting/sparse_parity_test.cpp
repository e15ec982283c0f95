#include <gtest/gtest.h>

#include <set>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/task.hpp>

namespace xgrad {
namespace {

// The places that turn the answer of an input of 0s.
std::set<std::size_t> places(std::int64_t instance) {
  const auto task = find_task("sparse_parity").make({{"length", 20}, {"instance", instance}}, 1);
  std::set<std::size_t> found;
  for (std::size_t at = 0; at < 20; ++at) {
    std::string line;
    for (std::size_t i = 0; i < 20; ++i) line += i == at ? "1 " : "0 ";
    if (task->parse(line).targets[0] == 1) found.insert(at);
  }
  return found;
}

TEST(SparseParity, TheInstanceChoosesThePlaces) {
  std::set<std::set<std::size_t>> different;
  for (std::int64_t instance = 0; instance < 10; ++instance) {
    EXPECT_EQ(places(instance).size(), 3);
    different.insert(places(instance));
  }
  EXPECT_GE(different.size(), 8);
}

TEST(SparseParity, NeedsAsManyTokensAsPlaces) {
  EXPECT_THROW(find_task("sparse_parity").make({{"length", 12}, {"count", 13}}, 1), ConfigError);
}

}  // namespace
}  // namespace xgrad

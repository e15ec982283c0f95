#include <xgrad/train/export/export.hpp>

#include <gtest/gtest.h>

#include <regex>

namespace xgrad {
namespace {

// The width that timm computes, int(dim * mlp_ratio), from the Python of the constructor.
std::size_t timm_feedforward(std::size_t width, std::size_t feedforward) {
  Config config;
  config.model.positions = "learned";
  config.model.width = width;
  config.model.feedforward = feedforward;
  TaskShape shape;
  shape.input = InputKind::image;
  shape.output = OutputKind::sequence;
  const std::string python = to_library("timm", config, shape, {}).constructor;
  std::smatch found;
  if (!std::regex_search(python, found, std::regex("mlp_ratio=([0-9.]+) / ([0-9]+),"))) return 0;
  return std::size_t(double(width) * (std::stod(found[1]) / std::stod(found[2])));
}

TEST(Naming, TimmMakesTheSameFeedforwardWidth) {
  for (const std::size_t width : {1, 3, 7, 44, 49, 96, 192, 384, 768}) {
    for (std::size_t feedforward = 1; feedforward <= 400; ++feedforward) {
      EXPECT_EQ(timm_feedforward(width, feedforward), feedforward) << "width " << width;
    }
  }
}

}  // namespace
}  // namespace xgrad

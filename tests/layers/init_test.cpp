#include <xgrad/layers/init.hpp>

#include <gtest/gtest.h>

#include <algorithm>

#include <xgrad/layers/embedding.hpp>
#include <xgrad/layers/pooling.hpp>
#include <xgrad/layers/positions.hpp>

namespace xgrad {
namespace {

// The draws of N(0, 1) times 0.02, to a rounding of float.
TEST(Initialization, EmbeddingsPositionsAndQueriesAreOfTheDocumentedSize) {
  const auto check = [](const std::string& path, const auto& make) {
    Parameters<float> parameters(5), normal(5);
    make(parameters.root() / "layer");
    const Parameter<float>& made =
        *std::find_if(parameters.begin(), parameters.end(),
                      [&](const Parameter<float>& p) { return p.name == "layer." + path; });
    const Variable<float> unit =
        (normal.root() / "layer").parameter(path, made.variable.shape(), init::normal(1));
    for (std::size_t i = 0; i < unit.value().size(); ++i) {
      const float value = made.variable.value().data()[i];
      EXPECT_NEAR(value, 0.02f * unit.value().data()[i], 1e-8f) << path;
    }
  };
  check("weight", [](const Scope<float>& scope) { Embedding<float>(scope, 5, 4); });
  check("query", [](const Scope<float>& scope) { Pooling<float>(scope, Pool::attention, 6); });
  PositionOptions grid;
  grid.kind = PositionKind::learned_2d;
  grid.width = 4;
  grid.rows = grid.columns = 3;
  for (const char* path : {"row_weight", "column_weight"}) {
    check(path, [&](const Scope<float>& scope) { Positions<float>(scope, grid); });
  }
}

}  // namespace
}  // namespace xgrad

#include <xgrad/train/inspect/gradcheck.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace xgrad {
namespace {

Config config_of(const std::string& task, const std::vector<std::string>& overrides = {}) {
  return parse_config("[task]\n" + task +
                          "examples = 100\n[model]\nwidth = 8\nheads = 2\nlayers = 1\n"
                          "feedforward = 12\n[train]\nsteps = 1\n",
                      "test", overrides);
}

TEST(ModelCheck, PadsAnExampleWhereLengthsVary) {
  const ModelCheck varied =
      check_model(config_of("name = 'reverse'\nlength = 9\nmin_length = 2\n"));
  ASSERT_EQ(varied.lengths.size(), 2u);
  EXPECT_NE(varied.lengths[0], varied.lengths[1]);
  const ModelCheck equal = check_model(config_of("name = 'reverse'\nlength = 5\n"));
  EXPECT_EQ(equal.lengths, (std::vector<std::size_t>{5, 5}));
  for (const ModelCheck* check : {&varied, &equal}) {
    EXPECT_TRUE(check->report.ok()) << check->report.table();
    EXPECT_EQ(check->arithmetic, "long double");
  }
}

TEST(ModelCheck, ProbesEveryTensorAtEntriesAndAlongADirection) {
  const ModelCheck check = check_model(config_of("name = 'copy'\nlength = 6\n"));
  ASSERT_EQ(check.report.rows.size(), check.shapes.size() + 1);
  for (std::size_t i = 0; i < check.shapes.size(); ++i) {
    const GradientRow& row = check.report.rows[i];
    std::size_t size = 1;
    for (const std::size_t extent : check.shapes[i]) size *= extent;
    EXPECT_EQ(row.directions, 1u) << row.name;
    EXPECT_EQ(row.probed, std::min<std::size_t>(32, size) + 1) << row.name;
  }
  EXPECT_EQ(check.report.rows.back().name, "all");
  EXPECT_EQ(check.report.rows.back().directions, 1u);
}

TEST(ModelCheck, ProbesAgainAtPlacesOfAReport) {
  const Config config = config_of("name = 'copy'\nlength = 6\n");
  const GradientReport whole = check_model(config).report;
  const GradientRow &first = whole.rows[0], &last = whole.rows.back();
  const GradientReport again =
      check_model(config, {{first.name, first.place}, {last.name, last.place}}).report;
  ASSERT_EQ(again.rows.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const GradientRow& row = i == 0 ? first : last;
    EXPECT_EQ(again.rows[i].name, row.name);
    EXPECT_EQ(again.rows[i].place, row.place);
    EXPECT_EQ(again.rows[i].probed, 1u);
    EXPECT_EQ(again.rows[i].analytic, row.analytic);
    EXPECT_EQ(again.rows[i].numeric, row.numeric);
  }
}

TEST(ModelCheck, WithEveryKeyThatChangesTheLossOrTheInitialWeights) {
  const std::string task = "name = 'histogram'\nlength = 5\n";
  for (const std::vector<std::string>& keys : std::vector<std::vector<std::string>>{
           {"train.class_weights=balanced", "task.symbols=4", "task.examples=2000"},
           {"train.class_weights=[1, 2, 0.5, 4, 8]", "train.label_smoothing=0.1"},
           {"model.stochastic_depth=0.5", "model.layers=3", "train.dropout_start=0.7"},
           {"model.stablemax=true", "train.label_smoothing=0.1"},
           {"model.init=orthogonal", "model.init_scaled_residuals=true"},
           {"model.init=kaiming_normal", "train.swa_start=1", "train.steps=5"},
           {"model.init=trunc_normal", "model.init_std=0.3", "train.clip_value=0.1"},
           {"task.min_length=4", "train.curriculum_start=4", "train.curriculum_steps=5"}}) {
    const GradientReport report = check_model(config_of(task, keys)).report;
    EXPECT_TRUE(report.ok()) << testing::PrintToString(keys) << report.table();
  }
}

// Layer norm of two features curves where they differ by less than the root of its eps, 0.003.
TEST(ModelCheck, WhereTheLossCurvesOnAShortScale) {
  for (int seed = 1; seed <= 10; ++seed) {
    const GradientReport report =
        check_model(config_of("name = 'reverse'\nlength = 6\n",
                              {"model.width=2", "model.heads=1", "model.feedforward=8",
                               "train.seed=" + std::to_string(seed)}))
            .report;
    EXPECT_TRUE(report.ok()) << "seed " << seed << "\n" << report.table();
  }
}

// The products of one pass of this model have about 12 million operations; there are 900 probes.
TEST(ModelCheck, LargeModelsInDouble) {
  const ModelCheck check = check_model(config_of(
      "name = 'sort'\nlength = 40\n",
      {"model.width=64", "model.feedforward=256", "model.layers=2", "model.dropout=0.1"}));
  EXPECT_EQ(check.arithmetic, "double");
  EXPECT_TRUE(check.report.ok()) << check.report.table();
  for (const GradientRow& row : check.report.rows) EXPECT_LT(row.relative, 1e-7) << row.name;
}

}  // namespace
}  // namespace xgrad

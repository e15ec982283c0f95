#include <xgrad/train/logs/metrics_row.hpp>

#include <gtest/gtest.h>

#include <xgrad/storage/disk/folder.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/storage/disk/temporary.hpp>

#include "support/tensors.hpp"
#include "train/metrics/figures.hpp"

namespace xgrad {
namespace {

using Numbers = std::vector<std::pair<std::string, double>>;

// Two classes; of one sample with the targets a b b, the guesses are a b a.
const Tensor<double> kLogits = test::tensor<double>({1, 3, 2}, {1, 0, 0, 1, 1, 0});
const Ids kTargets = test::tensor<std::int32_t>({1, 3}, {0, 1, 1});

TEST(MetricsRow, AsJsonAndBack) {
  const MetricsRow row{7, "train", {{"loss", 0.1}, {"lr", 1e-300}, {"grad_norm", 3}}};
  EXPECT_EQ(to_json(row), R"({"step":7,"split":"train","loss":0.1,"lr":1e-300,"grad_norm":3.0})");
  const MetricsRow read = read_row(to_json(row)).value();
  EXPECT_EQ(read.step, 7u);
  EXPECT_EQ(read.split, "train");
  EXPECT_EQ(read.numbers, row.numbers);
  EXPECT_EQ(read.number("lr"), 1e-300);
  EXPECT_EQ(read.number("step"), std::nullopt);
  EXPECT_EQ(to_json({2, "", {{"seconds", 0.5}}}), R"({"step":2,"seconds":0.5})");
}

TEST(MetricsRow, LeavesOutWhatIsNoNumber) {
  const MetricsRow read =
      read_row(R"({"step":3,"loss":null,"r2":1.5,"name":"x","classes":[1]})").value();
  EXPECT_EQ(read.step, 3u);
  EXPECT_EQ(read.split, "");
  EXPECT_EQ(read.numbers, (Numbers{{"r2", 1.5}}));
}

TEST(MetricsRow, ALineThatIsNoRow) {
  for (const char* line : {"", "{", "[]", "[3]", "3", "null", "{}", R"({"split":"train"})",
                           R"({"step":-1})", R"({"step":1.5})", R"({"step":"1"})"}) {
    EXPECT_FALSE(read_row(line)) << line;
  }
  const std::string row = R"({"step":1})", zero(1, '\0');
  EXPECT_TRUE(read_row(row));
  EXPECT_FALSE(read_row(zero + row));
  EXPECT_FALSE(read_row(row + zero));
}

TEST(MetricsRow, OfMetrics) {
  Metrics metrics;
  for (int example = 0; example < 2; ++example) metrics.add(kLogits, kTargets);
  const Figure loss = metrics.figures()[0], accuracy = metrics.figures()[1];
  const MetricsRow plain = metrics_row(5, "test", metrics);
  EXPECT_EQ(plain.step, 5u);
  EXPECT_EQ(plain.split, "test");
  ASSERT_EQ(plain.numbers.size(), 8u);
  EXPECT_EQ(plain.number("loss"), loss.value);
  EXPECT_EQ(plain.number("loss_se"), loss.standard_error);
  EXPECT_EQ(plain.number("accuracy"), accuracy.value);
}

TEST(MetricsRow, OfAReport) {
  Metrics metrics;
  metrics.add(kLogits, kTargets);
  ClassReport report(2);
  report.add(kLogits, kTargets);
  const std::string row = report_row(9, "test", metrics, report, {"a", "b"});
  // One example has no standard error.
  const std::string classes =
      R"("macro_f1":0.6666666666666666,"macro_f1_se":null,"classes":[)"
      R"({"class":"a","targets":1,"precision":0.5,"precision_se":null,"recall":1.0,"recall_se":null,)"
      R"("f1":0.6666666666666666,"f1_se":null},)"
      R"({"class":"b","targets":2,"precision":1.0,"precision_se":null,"recall":0.5,"recall_se":null,)"
      R"("f1":0.6666666666666666,"f1_se":null}],"confusion":[[1,0],[1,1]]})";
  EXPECT_TRUE(row.starts_with(R"({"step":9,"split":"test","loss":)")) << row;
  EXPECT_TRUE(row.ends_with(classes)) << row;
  EXPECT_EQ(read_row(row).value().number("accuracy"), 2.0 / 3);
}

TEST(MetricsRow, OfAReportOnAnswers) {
  ClassReport report(1);
  report.add(test::tensor<double>({1, 2, 1}, {1, -1}),
             test::batch_of(test::tensor<double>({1, 2, 1}, {1, 1})));
  const std::string row = report_row(9, "test", {}, report, {"yes"});
  EXPECT_NE(row.find(R"("classes":[{"class":"yes","targets":2,"precision":1.0,)"), row.npos) << row;
  EXPECT_EQ(row.find("confusion"), row.npos) << row;
}

TEST(MetricsRow, RowsOfAFile) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_metrics(Folder(folder.path()), "metrics.jsonl").empty());
  publish_over(folder.path(), "metrics.jsonl", "{\"step\":1}\nnone\n{\"step\":2,\"r2\":1}\n");
  const std::vector<MetricsRow> rows = read_metrics(Folder(folder.path()), "metrics.jsonl");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].step, 2u);
  EXPECT_EQ(rows[1].number("r2"), 1.0);
}

}  // namespace
}  // namespace xgrad

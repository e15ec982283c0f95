#include <xgrad/train/metrics/metrics.hpp>

#include <gtest/gtest.h>

#include <xgrad/train/model/build.hpp>

#include "train/small_run.hpp"

namespace xgrad {
namespace {

// Thirteen examples in batches of five, of several lengths, with a model that would drop much out.
struct Small {
  Config config = test::small_config({"task.min_length=2", "task.test=13", "model.dropout=0.9"});
  std::unique_ptr<Task> task = make_task(config);
  TaskShape shape = task->shape();
  std::unique_ptr<Dataset> data = task->dataset(Split::test);
  Parameters<double> parameters{1};
  std::unique_ptr<SequenceModel<double>> model = make_model<double>(config, shape, parameters);
  Pass pass{*data, shape, 5};
};

TEST(Evaluate, IsTheMeanOverExamplesOneByOne) {
  const Small small;
  Metrics alone;
  for (std::size_t i = 0; i < small.data->size(); ++i) {
    const Batch batch = collate({small.data->get(0, i)}, small.shape);
    alone.add((*small.model)(BatchInput<double>(batch).input(), {}).value(), batch, {});
  }
  const auto metrics = evaluate(*small.model, small.pass, {});
  EXPECT_EQ(metrics.loss.count(), alone.loss.count());
  EXPECT_NEAR(metrics.loss.mean(), alone.loss.mean(), 1e-13);
  EXPECT_EQ(metrics.accuracy.mean(), alone.accuracy.mean());
}

TEST(Evaluate, BreaksOffBeforeAnyBatch) {
  Small small;
  for (std::size_t most = 0; most <= 3; ++most) {
    std::size_t asked = 0;
    small.pass.break_off = [&] { return asked++ == most; };
    std::vector<std::size_t> seen;
    const bool whole = for_each_output<double>(
        *small.model, small.pass,
        [&](const Tensor<double>&, const Batch& batch) { seen.push_back(batch.size); });
    EXPECT_EQ(whole, most == 3);
    const std::vector<std::size_t> all = {5, 5, 3};
    EXPECT_EQ(seen, std::vector(all.begin(), all.begin() + long(most)));
  }
}

}  // namespace
}  // namespace xgrad

// A loop of somebody's own, made of the public parts, trains as the trainer does.
#include <gtest/gtest.h>

#include <xgrad/data/loader.hpp>
#include <xgrad/optim/clip.hpp>
#include <xgrad/optim/optimizers.hpp>
#include <xgrad/train/loop/trainer.hpp>
#include <xgrad/train/model/build.hpp>

#include "support/tensors.hpp"
#include "train/small_run.hpp"

namespace xgrad {
namespace {

TEST(OwnLoop, HasTheBitsOfTheTrainer) {
  const Config config =
      test::small_config({"model.dropout=0.3", "model.attention_dropout=0.2", "train.seed=5"});
  Trainer<float> trainer(config);

  const auto task = make_task(config);
  const auto train = task->dataset(Split::train);
  Loader loader(*train, task->shape(),
                {.batch = config.train.batch, .seed = config.train.seed, .shuffle = true});
  Parameters<float> parameters(config.train.seed);
  const auto model = make_model<float>(config, task->shape(), parameters);
  const auto optimizer = make_optimizer<float>(config.optim.name, parameters,
                                               {.weight_decay = config.optim.weight_decay});
  for (int step = 0; step < 5; ++step) {
    const StepReport report = trainer.train_step();
    const Batch batch = loader.next();
    parameters.zero_grad();
    const auto logits = (*model)(BatchInput<float>(batch).input(),
                                 Context::train(config.train.seed, optimizer->steps()));
    const auto loss = cross_entropy(logits, batch.targets);
    loss.backward();
    optimizer->step(report.lr, clip_factor(global_norm(parameters), config.train.clip));
    EXPECT_EQ(double(loss.value()()), report.loss);
  }
  for (const Parameter<float>& p : parameters) {
    EXPECT_TRUE(test::same_bits(p.variable.value(), trainer.parameters().at(p.name).value()))
        << p.name;
  }
}

}  // namespace
}  // namespace xgrad

// Your own training loop, with the data, model, optimizer and schedule of a config:
//
//     training_loop training_loop.toml
#include <cstdio>
#include <exception>

#include <xgrad/train/config/config.hpp>
#include <xgrad/train/model/parts.hpp>
#include <xgrad/xgrad.hpp>

using namespace xgrad;

int main(int argc, char** argv) try {
  const Config config = load_config(argc > 1 ? argv[1] : "training_loop.toml", {});
  const auto task = make_task(config);
  const auto train = task->dataset(Split::train);
  Loader loader(*train, task->shape(),
                {.batch = config.train.batch, .seed = config.train.seed, .shuffle = true});

  Parameters<float> parameters(config.train.seed);
  const auto model = make_model<float>(config, task->shape(), parameters);
  const auto optimizer = make_optimizer(config.optim, parameters);
  const Schedule schedule = make_schedule(config, config.train.steps);

  for (std::uint64_t step = 0; step < config.train.steps; ++step) {
    const Batch batch = loader.next();
    parameters.zero_grad();
    const BatchInput<float> input(batch);
    const Variable<float> loss = cross_entropy(
        (*model)(input.input(), Context::train(config.train.seed, step)), batch.targets);
    loss.backward();
    optimizer->step(schedule(step), clip_factor(global_norm(parameters), config.train.clip));
    if ((step + 1) % 100 == 0)
      std::printf("step %llu, loss %.4f\n", (unsigned long long)(step + 1), double(loss.item()));
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "training_loop: %s\n", error.what());
  return 1;
}

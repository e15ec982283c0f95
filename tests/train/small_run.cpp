#include <gtest/gtest.h>
#include <train/small_run.hpp>

#include <xgrad/train/loop/trainer.hpp>

namespace xgrad::test {

Config small_config(const std::vector<std::string>& overrides) {
  return parse_config(R"(
    [task]
    name = "reverse"
    length = 4
    [model]
    width = 8
    heads = 2
    layers = 1
    [train]
    steps = 12
    batch = 8
    evaluate_every = 4
  )",
                      "small.toml", overrides);
}

Config small_config(std::uint64_t seed, const std::string& init_from) {
  Config config = small_config({"train.steps=6", "train.evaluate_every=3"});
  config.train.seed = seed;
  config.model.init_from = init_from;
  return config;
}

void expect_the_same_bits_after_a_stop(const Config& config,
                                       const std::function<void()>& meanwhile) {
  TrainerHooks quiet;
  Trainer<float> whole(config);
  whole.run(quiet);
  struct Once final : TrainerHooks {
    bool stop() override { return true; }
  } once;
  Trainer<float> first(config);
  first.run(once);
  meanwhile();
  const Checkpoint saved = from_hdf5(to_hdf5(first.capture()), "memory");
  Trainer<float> second(parse_config(saved.config, "stored", {}, ConfigWriter::xgrad), &saved);
  EXPECT_EQ(second.step(), 1u);
  second.run(quiet);
  EXPECT_EQ(to_hdf5(second.capture()), to_hdf5(whole.capture()));
}

}  // namespace xgrad::test

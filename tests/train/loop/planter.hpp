// Plants a number into what an op of a training step gives.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/autograd/observer.hpp>
#include <xgrad/train/loop/trainer.hpp>

namespace xgrad::test {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();

inline Config planted_config(const std::vector<std::string>& overrides = {}) {
  return parse_config(R"(
    task = {name = "reverse", length = 4}
    model = {width = 8, heads = 2, layers = 1, dropout = 0, attention_dropout = 0}
    train = {steps = 12, batch = 8, evaluate_every = 4}
    log.every = 1
  )",
                      "small.toml", overrides);
}

// Writes a number into what the n-th op of a step gives, forward or backward, while it is armed.
struct Planter final : OpObserver {
  void begin(const char* name) override {
    if (std::string_view(name) == "model") count = 0;
  }
  void end(const OpCall& call) override {
    if (call.kind == OpCall::Kind::region || !armed) return;
    if (call.kind != kind) return;
    if (++count != at) return;
    const void* target = call.result.value;
    for (const Operand& x : call.inputs) {
      if (kind == OpCall::Kind::backward && target == nullptr) target = x.value;
    }
    if (target == nullptr) return;  // a derivative that nobody wanted
    op = call.name;
    auto& tensor = *static_cast<Tensor<float>*>(const_cast<void*>(target));
    tensor.data()[tensor.size() / 2] = value;
  }

  OpCall::Kind kind = OpCall::Kind::forward;
  std::size_t at = 0, count = 0;
  float value = kNan;
  bool armed = false;
  std::string op;  // that the number was planted in
};

// Arms the planter for one step, and remembers what happened.
struct Watch final : TrainerHooks {
  Watch(Planter& planter, std::uint64_t step) : planter(planter), step(step) {
    planter.armed = step == 1;
  }
  void on_step(const StepReport& report) override {
    steps.push_back(report.step);
    planter.armed = report.step + 1 == step;
  }
  void on_checkpoint(const Checkpoint& checkpoint) override { saves.push_back(checkpoint); }
  void on_failed_step(const StepReport& report, std::uint64_t next) override {
    spikes.push_back({report.step, next});
    if (again_and_again) return;
    planter.armed = false;
    step = 0;  // never again
  }
  std::string on_fatal_step(const Checkpoint& checkpoint) override {
    failed = checkpoint;
    return "";
  }

  Planter& planter;
  std::uint64_t step;
  bool again_and_again = false;
  std::vector<std::uint64_t> steps;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> spikes;
  std::vector<Checkpoint> saves;
  std::optional<Checkpoint> failed;
};

}  // namespace xgrad::test

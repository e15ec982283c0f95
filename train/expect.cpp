#include <xgrad/train/expect.hpp>

#include <fmt/format.h>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

std::string with_error(const RatioMean& value) {
  return fmt::format("{:.4f} ± {:.4f}", value.mean(), value.standard_error());
}

Verdict accuracy_at_least(double least, const std::string& claim, const Result& result) {
  return {claim, with_error(result.test.accuracy), result.test.accuracy.mean() >= least};
}

}  // namespace

void check_claims(const ExpectConfig& expect, const Task& task) {
  if (!expect.below_ceiling && !expect.above_floor) return;
  check<ConfigError>(task.ceiling(Split::test).has_value(), "expect.",
                     expect.below_ceiling ? "below_ceiling" : "above_floor",
                     ": the task does not know the best that there can be");
}

std::vector<Verdict> judge(const ExpectConfig& expect, const Result& result) {
  std::vector<Verdict> verdicts;
  if (expect.accuracy) {
    verdicts.push_back(accuracy_at_least(*expect.accuracy,
                                         fmt::format("accuracy >= {}", *expect.accuracy), result));
  }
  if (expect.below_ceiling) {
    const double best = result.ceiling.value().accuracy;
    verdicts.push_back(accuracy_at_least(
        best - *expect.below_ceiling,
        fmt::format("accuracy >= {:.4f}, the best, - {}", best, *expect.below_ceiling), result));
  }
  if (expect.above_floor) {
    const double least = result.ceiling.value().loss;
    verdicts.push_back(
        {fmt::format("loss <= {:.4f}, the least, + {:g} %", least, 100 * *expect.above_floor),
         with_error(result.test.loss),
         result.test.loss.mean() <= least * (1 + *expect.above_floor)});
  }
  if (expect.parameters) {
    verdicts.push_back({fmt::format("parameters = {}", *expect.parameters),
                        fmt::format("{}", result.parameters),
                        result.parameters == *expect.parameters});
  }
  if (expect.within_steps) {
    verdicts.push_back({fmt::format("within {} steps", *expect.within_steps),
                        fmt::format("{}", result.steps), result.steps <= *expect.within_steps});
  }
  return verdicts;
}

}  // namespace xgrad

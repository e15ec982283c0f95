#include <xgrad/train/expect.hpp>

#include <fmt/format.h>

namespace xgrad {

std::vector<Verdict> judge(const ExpectConfig& expect, const Metrics& test, std::size_t parameters,
                           std::uint64_t steps) {
  std::vector<Verdict> verdicts;
  if (expect.accuracy) {
    verdicts.push_back(
        {fmt::format("accuracy >= {}", *expect.accuracy),
         fmt::format("{:.4f} ± {:.4f}", test.accuracy.mean(), test.accuracy.standard_error()),
         test.accuracy.mean() >= *expect.accuracy});
  }
  if (expect.parameters) {
    verdicts.push_back({fmt::format("parameters = {}", *expect.parameters),
                        fmt::format("{}", parameters), parameters == *expect.parameters});
  }
  if (expect.within_steps) {
    verdicts.push_back({fmt::format("within {} steps", *expect.within_steps),
                        fmt::format("{}", steps), steps <= *expect.within_steps});
  }
  return verdicts;
}

}  // namespace xgrad

#include <xgrad/train/metrics/expect.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

const Figure* find(const std::vector<Figure>& figures, const std::string& name) {
  const auto found = std::find_if(figures.begin(), figures.end(),
                                  [&](const Figure& figure) { return figure.name == name; });
  return found == figures.end() ? nullptr : &*found;
}

Verdict judge_figure(const std::string& claim, const Metrics& test, const std::string& name,
                     double bound, bool most) {
  const std::vector<Figure> figures = test.figures();
  const Figure* const figure = find(figures, name);
  if (figure == nullptr) return {claim, "not measured", false};
  return {claim, fmt::format("{:.4f} ± {:.4f}", figure->value, figure->standard_error),
          most ? figure->value <= bound : figure->value >= bound};
}

Verdict judge_alone(double tolerance, const Result& result) {
  const double best = result.token_ceiling.value().accuracy;
  const std::string claim =
      fmt::format("accuracy = {:.4f}, the best from a token alone, ± {}", best, tolerance);
  Verdict verdict = judge_figure(claim, result.test, "accuracy", best + tolerance, true);
  verdict.holds = verdict.holds && result.test.accuracy.mean() >= best - tolerance;
  return verdict;
}

struct Claim {
  const char* name;
  std::optional<double> bound;
  bool most = false;
};

// The claims about metrics of the test split.
std::vector<Claim> claims_about_figures(const ExpectConfig& expect) {
  return {{"accuracy", expect.accuracy},
          {"exact_match", expect.exact_match},
          {"r2", expect.r2},
          {"loss", expect.loss, true}};
}

}  // namespace

void check_claims(const ExpectConfig& expect, const Task& task) {
  Metrics empty;
  empty.target = task.shape().target;
  const std::vector<Figure> figures = empty.figures();
  for (const Claim& claim : claims_about_figures(expect)) {
    check<ConfigError>(!claim.bound || find(figures, claim.name) != nullptr, "expect.", claim.name,
                       ": is not measured for targets that are ", to_string(empty.target));
  }
  for (const auto& [claim, bound] : {std::pair("below_ceiling", expect.below_ceiling),
                                     std::pair("at_token_ceiling", expect.at_token_ceiling)}) {
    check<ConfigError>(!bound || find(figures, "accuracy") != nullptr, "expect.", claim,
                       ": accuracy is not measured for targets that are ", to_string(empty.target));
  }
  check<ConfigError>(!expect.at_token_ceiling || task.token_ceiling().has_value(),
                     "expect.at_token_ceiling: the task does not know the best possible accuracy "
                     "from a token alone");
  if (!expect.below_ceiling && !expect.above_floor) return;
  check<ConfigError>(task.ceiling(Split::test).has_value(), "expect.",
                     expect.below_ceiling ? "below_ceiling" : "above_floor",
                     ": the task does not know the best possible result");
}

std::vector<Verdict> judge(const ExpectConfig& expect, const Result& result) {
  std::vector<Verdict> verdicts;
  for (const Claim& claim : claims_about_figures(expect)) {
    if (!claim.bound) continue;
    const std::string text =
        fmt::format("{} {} {}", claim.name, claim.most ? "<=" : ">=", *claim.bound);
    verdicts.push_back(judge_figure(text, result.test, claim.name, *claim.bound, claim.most));
  }
  if (expect.below_ceiling) {
    const double best = result.ceiling.value().accuracy;
    verdicts.push_back(
        judge_figure(fmt::format("accuracy >= {:.4f}, the best, - {}", best, *expect.below_ceiling),
                     result.test, "accuracy", best - *expect.below_ceiling, false));
  }
  if (expect.at_token_ceiling) verdicts.push_back(judge_alone(*expect.at_token_ceiling, result));
  if (expect.above_floor) {
    const double least = result.ceiling.value().loss;
    verdicts.push_back(judge_figure(
        fmt::format("loss <= {:.4f}, the least, + {:g} %", least, 100 * *expect.above_floor),
        result.test, "loss", least * (1 + *expect.above_floor), true));
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

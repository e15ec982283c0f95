#include <xgrad/train/run/expect.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numbers>
#include <utility>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

const Figure* find(const std::vector<Figure>& figures, const std::string& name) {
  const auto found = std::find_if(figures.begin(), figures.end(),
                                  [&](const Figure& figure) { return figure.name == name; });
  return found == figures.end() ? nullptr : &*found;
}

constexpr double kInf = std::numeric_limits<double>::infinity();

// A claim about a metric: it lies in a range.
struct Claim {
  std::string text;
  std::string metric;
  double least = -kInf;
  double most = kInf;

  bool holds(double value) const { return value >= least && value <= most; }
};

// The metrics that have a minimum, and those minima.
std::vector<std::pair<const char*, std::optional<double>>> minima(const ExpectConfig& expect) {
  return {{"accuracy", expect.accuracy}, {"exact_match", expect.exact_match}, {"r2", expect.r2}};
}

std::vector<Claim> claims_about_metrics(const ExpectConfig& expect,
                                        const std::optional<Ceiling>& ceiling,
                                        const std::optional<Ceiling>& token_ceiling,
                                        std::optional<double> baseline) {
  std::vector<Claim> claims;
  const auto claim = [&](const char* metric, double least, double most, const std::string& text) {
    claims.push_back({text, metric, least, most});
  };
  for (const auto& [name, bound] : minima(expect)) {
    if (bound) claim(name, *bound, kInf, fmt::format("{} >= {}", name, *bound));
  }
  if (const auto& most = expect.loss) {
    claim("loss", -kInf, *most, fmt::format("loss <= {}", *most));
  }
  if (const auto& most = expect.bits_per_character) {
    claim("bits_per_character", -kInf, *most, fmt::format("bits_per_character <= {}", *most));
  }
  if (const auto& gap = expect.below_ceiling) {
    const double best = ceiling.value().accuracy;
    claim("accuracy", best - *gap, kInf,
          fmt::format("accuracy >= {:.4f}, the best, - {}", best, *gap));
  }
  if (const auto& lead = expect.above_baseline) {
    claim("accuracy", baseline.value() + *lead, kInf,
          fmt::format("accuracy >= {:.4f}, the best baseline, + {}", *baseline, *lead));
  }
  if (const auto& gap = expect.at_token_ceiling) {
    const double best = token_ceiling.value().accuracy;
    claim("accuracy", best - *gap, best + *gap,
          fmt::format("accuracy = {:.4f}, the best from a token alone, ± {}", best, *gap));
  }
  if (const auto& share = expect.above_floor) {
    const double least = ceiling.value().loss;
    claim("loss", -kInf, least * (1 + *share),
          fmt::format("loss <= {:.4f}, the least, + {:g} %", least, 100 * *share));
  }
  return claims;
}

// Bits per target of the rule with the lowest loss.
double rule_bits(const std::vector<Rule>& rules) {
  double least = kInf;
  for (const Rule& rule : rules) least = std::min(least, rule.loss.value_or(kInf));
  return least / std::numbers::ln2;
}

Verdict judge_metric(const Claim& claim, const std::vector<Figure>& figures) {
  const Figure* const figure = find(figures, claim.metric);
  if (figure == nullptr) return {claim.text, "not measured", false};
  return {claim.text, figure_text(figure->value, figure->standard_error),
          claim.holds(figure->value)};
}

}  // namespace

void check_claims(const ExpectConfig& expect, const Task& task) {
  Metrics empty;
  empty.target = task.shape().target;
  empty.next = task.shape().next;
  const std::vector<Figure> figures = empty.figures();
  for (const auto& [metric, bound] : minima(expect)) {
    check<ConfigError>(!bound || find(figures, metric) != nullptr, "expect.", metric,
                       ": is not measured for targets that are ", to_string(empty.target));
  }
  for (const auto& [claim, bound] : {std::pair("bits_per_character", expect.bits_per_character),
                                     std::pair("bits_below_rule", expect.bits_below_rule)}) {
    check<ConfigError>(!bound || find(figures, "bits_per_character") != nullptr, "expect.", claim,
                       ": is measured only for language models of characters");
  }
  for (const auto& [claim, bound] : {std::pair("accuracy_below", expect.accuracy_below),
                                     std::pair("below_ceiling", expect.below_ceiling),
                                     std::pair("above_baseline", expect.above_baseline),
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

std::optional<std::uint64_t> first_reached(const ExpectConfig& expect,
                                           const std::vector<MetricsRow>& rows, const Task& task,
                                           std::optional<double> baseline) {
  const std::vector<Claim> claims =
      claims_about_metrics(expect, task.ceiling(Split::validation), task.token_ceiling(), baseline);
  const auto reaches = [&](const MetricsRow& row) {
    return row.split == "validation" &&
           std::all_of(claims.begin(), claims.end(), [&](const Claim& claim) {
             const std::optional<double> value = row.number(claim.metric);
             return value && claim.holds(*value);
           });
  };
  const auto found = std::find_if(rows.begin(), rows.end(), reaches);
  return found == rows.end() ? std::nullopt : std::optional(found->step);
}

std::vector<Verdict> judge(const ExpectConfig& expect, const Result& result) {
  std::vector<Verdict> verdicts;
  const std::vector<Figure> figures = result.test.figures();
  for (const Claim& claim :
       claims_about_metrics(expect, result.ceiling, result.token_ceiling, result.baseline)) {
    verdicts.push_back(judge_metric(claim, figures));
  }
  if (expect.bits_below_rule) {
    const double most = rule_bits(result.rules) - *expect.bits_below_rule;
    verdicts.push_back(judge_metric({fmt::format("bits_per_character <= {:.4f}, the rule's, - {}",
                                                 rule_bits(result.rules), *expect.bits_below_rule),
                                     "bits_per_character", -kInf, most},
                                    figures));
  }
  if (const auto& most = expect.accuracy_below) {
    verdicts.push_back(
        judge_metric({fmt::format("accuracy <= {}", *most), "accuracy", -kInf, *most}, figures));
  }
  if (expect.parameters) {
    verdicts.push_back({fmt::format("parameters = {}", *expect.parameters),
                        fmt::format("{}", result.parameters),
                        result.parameters == *expect.parameters});
  }
  if (expect.within_steps) {
    verdicts.push_back(
        {fmt::format("reached within {} steps", *expect.within_steps),
         result.reached ? fmt::format("first at step {}", *result.reached) : "in no validation",
         result.reached && *result.reached <= *expect.within_steps});
  }
  if (expect.sha256) {
    const bool judged = result.arithmetic == "fma-1";
    verdicts.push_back({"sha256 = " + *expect.sha256,
                        judged ? result.hash : "not judged in the arithmetic " + result.arithmetic,
                        !judged || result.hash == *expect.sha256});
  }
  return verdicts;
}

Verdict judge_seconds(double most, double seconds) {
  return {fmt::format("trained within {} seconds", most), fmt::format("{:.1f}", seconds),
          seconds <= most};
}

}  // namespace xgrad

#include <xgrad/train/run/session.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numbers>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

const Figure* find(const std::vector<Figure>& figures, const std::string& name) {
  const auto found = std::ranges::find(figures, name, &Figure::name);
  return found == figures.end() ? nullptr : &*found;
}

// A claim that a metric lies in a range.
struct Claim {
  std::string key;  // of [expect]
  std::string metric;
  double least, most;
  std::string text;
  bool at_end = false;  // about the test split only

  bool holds(double value) const { return value >= least && value <= most; }
};

// Bits per target of the rule with the lowest loss.
double rule_bits(const std::vector<Rule>& rules) {
  double least = kInf;
  for (const Rule& rule : rules) least = std::min(least, rule.loss.value_or(kInf));
  return least / std::numbers::ln2;
}

// The claims about metrics. Some bounds depend on the result: best possible values, baselines.
std::vector<Claim> claims_of(const ExpectConfig& expect, const Result& known) {
  const Ceiling ceiling = known.ceiling.value_or(Ceiling{});
  const double alone = known.token_ceiling.value_or(Ceiling{}).accuracy;
  const double baseline = known.baseline.value_or(0), bits = rule_bits(known.rules);
  std::vector<Claim> claims;
  for (const auto& [key, bound] :
       {std::pair("accuracy", expect.accuracy), std::pair("exact_match", expect.exact_match),
        std::pair("r2", expect.r2)}) {
    if (bound) claims.push_back({key, key, *bound, kInf, fmt::format("{} >= {}", key, *bound)});
  }
  for (const auto& [key, bound] : {std::pair("loss", expect.loss),
                                   std::pair("bits_per_character", expect.bits_per_character)}) {
    if (bound) claims.push_back({key, key, -kInf, *bound, fmt::format("{} <= {}", key, *bound)});
  }
  const auto claim = [&](const char* key, const char* metric, double least, double most,
                         const std::string& text, bool at_end = false) {
    claims.push_back({key, metric, least, most, text, at_end});
  };
  if (const auto& gap = expect.below_ceiling) {
    claim("below_ceiling", "accuracy", ceiling.accuracy - *gap, kInf,
          fmt::format("accuracy within {} of the best possible, {:.4f}", *gap, ceiling.accuracy));
  }
  if (const auto& lead = expect.above_baseline) {
    claim("above_baseline", "accuracy", baseline + *lead, kInf,
          fmt::format("accuracy at least {} above the best baseline, {:.4f}", *lead, baseline));
  }
  if (const auto& gap = expect.at_token_ceiling) {
    claim("at_token_ceiling", "accuracy", alone - *gap, alone + *gap,
          fmt::format("accuracy within {} of the best from a token alone, {:.4f}", *gap, alone));
  }
  if (const auto& share = expect.above_floor) {
    claim("above_floor", "loss", -kInf, ceiling.loss * (1 + *share),
          fmt::format("loss at most {:g} % above the lowest possible, {:.4f}", 100 * *share,
                      ceiling.loss));
  }
  if (const auto& gap = expect.bits_below_rule) {
    claim("bits_below_rule", "bits_per_character", -kInf, bits - *gap,
          fmt::format("bits_per_character at least {} below the best rule, {:.4f}", *gap, bits),
          true);
  }
  if (const auto& most = expect.accuracy_below) {
    claim("accuracy_below", "accuracy", -kInf, *most, fmt::format("accuracy <= {}", *most), true);
  }
  return claims;
}

}  // namespace

void check_claims(const ExpectConfig& expect, const Task& task) {
  Metrics empty;
  empty.target = task.shape().target;
  empty.next = task.shape().next;
  const std::vector<Figure> figures = empty.figures();
  for (const Claim& claim : claims_of(expect, {})) {
    if (find(figures, claim.metric) != nullptr) continue;
    check<ConfigError>(claim.metric != "bits_per_character", "expect.", claim.key,
                       ": is measured only for language models of characters");
    detail::fail<ConfigError>("expect.", claim.key, ": ",
                              claim.key == claim.metric ? "" : claim.metric + " ",
                              "is not measured for targets that are ", to_string(empty.target));
  }
  check<ConfigError>(!expect.at_token_ceiling || task.token_ceiling().has_value(),
                     "expect.at_token_ceiling: the best accuracy that is possible from a "
                     "token alone is not known for this task");
  if (!expect.below_ceiling && !expect.above_floor) return;
  check<ConfigError>(task.ceiling(Split::test).has_value(), "expect.",
                     expect.below_ceiling ? "below_ceiling" : "above_floor",
                     ": xgrad does not compute the best possible result of this task");
}

std::optional<std::uint64_t> first_reached(const ExpectConfig& expect,
                                           const std::vector<MetricsRow>& rows, const Task& task,
                                           std::optional<double> baseline) {
  const std::vector<Claim> claims = claims_of(expect, {.ceiling = task.ceiling(Split::validation),
                                                       .token_ceiling = task.token_ceiling(),
                                                       .baseline = baseline});
  const auto reaches = [&](const MetricsRow& row) {
    return row.split == "validation" && std::ranges::all_of(claims, [&](const Claim& claim) {
             const std::optional<double> value = row.number(claim.metric);
             return claim.at_end || (value && claim.holds(*value));
           });
  };
  const auto found = std::ranges::find_if(rows, reaches);
  return found == rows.end() ? std::nullopt : std::optional(found->step);
}

std::vector<Verdict> judge(const ExpectConfig& expect, const Result& result) {
  std::vector<Verdict> verdicts;
  const std::vector<Figure> figures = result.test.figures();
  for (const Claim& claim : claims_of(expect, result)) {
    const Figure* f = find(figures, claim.metric);
    const std::string text = f ? figure_text(f->value, f->standard_error) : "not measured";
    verdicts.push_back({claim.text, text, f != nullptr && claim.holds(f->value)});
  }
  if (const auto& parameters = expect.parameters) {
    verdicts.push_back({fmt::format("parameters = {}", *parameters),
                        fmt::to_string(result.parameters), result.parameters == *parameters});
  }
  if (const auto& within = expect.within_steps) {
    const auto& reached = result.reached;
    verdicts.push_back({fmt::format("reached within {} steps", *within),
                        reached ? fmt::format("first at step {}", *reached) : "in no validation",
                        reached && *reached <= *within});
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
  const std::string text = fmt::format("trained within {} seconds", most);
  return {text, fmt::format("{:.1f}", seconds), seconds <= most};
}

}  // namespace xgrad

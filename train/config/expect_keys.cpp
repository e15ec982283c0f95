// The rows of [expect].
#include <xgrad/train/config/rows.hpp>

namespace xgrad::detail {

namespace {

// A key of [expect], which has no default.
template <class Field>
ConfigKey claim(const char* name, std::optional<Field> ExpectConfig::*field, const char* help,
                Limits limits) {
  ConfigKey key;
  key.section = "expect";
  key.get = [field](const Config& config) -> std::optional<OptionValue> {
    const auto& value = config.expect.*field;
    return value ? std::optional(to_value(*value)) : std::nullopt;
  };
  key.set = [field](Config& config, const OptionValue& value) {
    config.expect.*field = from_value<Field>(value);
  };
  key.spec = {name, to_value(Field()), help, limits.min, limits.max, {}};
  return key;
}

}  // namespace

Keys expect_keys() {
  return {
      claim("accuracy", &ExpectConfig::accuracy, "Minimum accuracy on the test split.",
            between(0, 1)),
      claim("accuracy_below", &ExpectConfig::accuracy_below,
            "Maximum accuracy on the test split, for a config that shows how a model fails.",
            between(0, 1)),
      claim(
          "below_ceiling", &ExpectConfig::below_ceiling,
          "Maximum gap between the accuracy and the best possible; for tasks where that is known.",
          between(0, 1)),
      claim("above_baseline", &ExpectConfig::above_baseline,
            "Minimum lead of the accuracy over that of the best baseline, a rule fitted by "
            "counting; see the report of a run.",
            between(-1, 1)),
      claim("at_token_ceiling", &ExpectConfig::at_token_ceiling,
            "Maximum difference, up or down, between the accuracy and the best possible from each "
            "token by itself; for tasks where that is known.",
            between(0, 1)),
      claim("above_floor", &ExpectConfig::above_floor,
            "Maximum excess of the loss over the lowest possible, as a fraction of the latter; for "
            "tasks where that is known.",
            at_least(0)),
      claim("exact_match", &ExpectConfig::exact_match,
            "Minimum fraction of test examples with every target right.", between(0, 1)),
      claim("bits_per_character", &ExpectConfig::bits_per_character,
            "Maximum bits per character on the test split, for language models of characters. The "
            "end of a text counts as a character.",
            at_least(0)),
      claim(
          "bits_below_rule", &ExpectConfig::bits_below_rule,
          "Minimum by which the bits per character are below those of the task's best rule, which "
          "counts n-grams.",
          between(-kMany, kMany)),
      claim("r2", &ExpectConfig::r2, "Minimum R^2 on the test split.", between(-kMany, 1)),
      claim("loss", &ExpectConfig::loss, "Maximum loss on the test split.", at_least(0)),
      claim("parameters", &ExpectConfig::parameters, "Exact number of scalars in all parameters.",
            between(1, kMany)),
      claim("within_steps", &ExpectConfig::within_steps,
            "Maximum step of the first validation at which all claims about metrics hold on the "
            "validation split.",
            between(1, kMany)),
      claim("seconds", &ExpectConfig::seconds,
            "Maximum seconds of training, with its evaluations and saves; only `xgrad check` "
            "judges it.",
            at_least(above(0))),
  };
}

}  // namespace xgrad::detail

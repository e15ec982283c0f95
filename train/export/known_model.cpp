#include <xgrad/train/export/export.hpp>

#include <algorithm>
#include <sstream>

#include <xgrad/data/option_text.hpp>
#include <xgrad/train/config/keys.hpp>

namespace xgrad {

namespace {

bool is_known(const detail::ConfigKey& key, const OptionValue& value, const KnownModel& known) {
  const auto found = known.find(key.spec.name);
  if (found == known.end()) return value == key.spec.fallback;
  const std::vector<std::string>& words = found->second;
  const auto* word = std::get_if<std::string>(&value);
  return words.empty() ||
         std::find(words.begin(), words.end(), word ? *word : to_literal(value)) != words.end();
}

}  // namespace

KnownModel plain_encoder() {
  KnownModel known = {{"kind", {"encoder"}},
                      {"norm", {"pre", "post", "sandwich", "none"}},
                      {"normalization", {"layer", "rms"}},
                      {"activation", {"gelu", "gelu_tanh", "relu", "silu"}},
                      {"positions", {"none", "learned", "sinusoidal"}},
                      {"pool", {"cls", "mean"}}};
  std::istringstream any(
      "width heads head_dim layers feedforward dropout attention_dropout stochastic_depth "
      "final_norm norm_eps patch patch_overlap qkv_bias out_bias init init_std "
      "init_scaled_residuals init_from init_strict init_noise");
  for (std::string key; any >> key;) known[key] = {};
  return known;
}

std::vector<std::string> unknown_settings(const Config& config, const KnownModel& known) {
  std::vector<std::string> unknown;
  for (const detail::ConfigKey& key : detail::config_keys()) {
    if (key.section != "model") continue;
    const std::optional<OptionValue> value = key.get(config);
    if (!value || is_known(key, *value, known)) continue;
    unknown.push_back(key.name() + " = " + to_literal(*value));
  }
  return unknown;
}

}  // namespace xgrad

#include <algorithm>
#include <map>

#include <xgrad/autograd/nearest.hpp>
#include <xgrad/train/config/keys.hpp>

namespace xgrad::detail {

namespace {

// Translates key names of other libraries.
const std::string& translated(const std::string& key) {
  static const std::map<std::string, std::string, std::less<>> words = {
      {"batch_size", "batch"},
      {"betas", "beta1"},
      {"clip_norm", "clip"},
      {"d_model", "width"},
      {"depth", "layers"},
      {"dim", "width"},
      {"dim_feedforward", "feedforward"},
      {"embed_dim", "width"},
      {"grad_clip", "clip"},
      {"hidden_size", "width"},
      {"learning_rate", "lr"},
      {"max_epochs", "epochs"},
      {"max_steps", "steps"},
      {"mlp_dim", "feedforward"},
      {"n_heads", "heads"},
      {"n_layers", "layers"},
      {"num_epochs", "epochs"},
      {"num_heads", "heads"},
      {"num_layers", "layers"},
      {"num_steps", "steps"},
      {"warmup_steps", "warmup"},
      {"wd", "weight_decay"},
  };
  const auto found = words.find(key);
  return found == words.end() ? key : found->second;
}

std::string did_you_mean(const std::string& what) {
  return "; did you mean " + what + "?";
}

std::string choose_from(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "; there are " : ", ") + name;
  return text;
}

// The name closest to the word, or one that is a prefix of the word or has it as a prefix; empty if
// there is none.
std::string meant(std::string word, const std::vector<std::string>& names) {
  // No name is longer, and the distance takes quadratic time.
  word.resize(std::min<std::size_t>(word.size(), 64));
  const std::string near = nearest(word, names);
  if (!near.empty()) return near;
  for (const std::string& name : names) {
    const bool related = word.starts_with(name) || name.starts_with(word);
    if (related && std::min(word.size(), name.size()) >= 3) return name;
  }
  return "";
}

}  // namespace

std::string suggest_key(const std::string& section, const std::string& key,
                        const std::vector<OptionSpec>& task_keys) {
  const std::string& word = translated(key);
  std::vector<std::string> names, elsewhere;
  for (const ConfigKey& row : config_keys()) {
    if (row.section == section) names.push_back(row.spec.name);
    if (row.section != section && row.spec.name == word) elsewhere.push_back(row.name());
  }
  if (section == "task") {
    for (const OptionSpec& spec : task_keys) names.push_back(spec.name);
  }
  const bool here = std::find(names.begin(), names.end(), word) != names.end();
  if (!here && elsewhere.size() == 1) return did_you_mean(elsewhere[0]);
  if (names.empty()) return suggest_section(section);
  const std::string near = meant(word, names);
  return near.empty() ? choose_from(names) : did_you_mean(section + "." + near);
}

std::string suggest_anywhere(const std::string& key) {
  std::vector<std::string> names;
  for (const ConfigKey& row : config_keys()) names.push_back(row.spec.name);
  const std::string near = meant(translated(key), names);
  for (const ConfigKey& row : config_keys()) {
    if (row.spec.name == near) return did_you_mean(row.name());
  }
  return "";
}

std::string suggest_section(const std::string& section) {
  const std::string near = meant(section, config_sections());
  return near.empty() ? choose_from(config_sections()) : did_you_mean("[" + near + "]");
}

}  // namespace xgrad::detail

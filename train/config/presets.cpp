#include <xgrad/train/config/presets.hpp>

#include <xgrad/data/option_text.hpp>

namespace xgrad::detail {

// The default arguments of a book's multi-head attention (S0.12) and of its encoder block (S1.10).
const std::vector<Preset>& model_presets() {
  static const std::vector<Preset> presets = {
      {"vit_book_mhsa",
       {{"width", 384}, {"heads", 3}, {"dropout", 0.0}, {"attention_dropout", 0.0}}},
      {"vit_book_block",
       {{"width", 384},
        {"heads", 8},
        {"feedforward", 1536},
        {"dropout", 0.0},
        {"attention_dropout", 0.0}}},
  };
  return presets;
}

ConfigKey preset_key() {
  std::string help = "Sets other defaults for this section.";
  std::vector<std::string> names = {"none"};
  for (const Preset& preset : model_presets()) {
    help += (names.size() == 1 ? " " : "; ") + preset.name;
    names.push_back(preset.name);
    for (const auto& [key, value] : preset.values) {
      help += (&key == &preset.values[0].first ? ": " : ", ") + key + " " + to_literal(value);
    }
  }
  ConfigKey key;
  key.section = "model";
  key.spec = {
      .name = "preset",
      .fallback = std::string("none"),
      .help = help + ". Keys that you set win; the saved config holds the values, not the name.",
      .choices = names};
  key.get = [](const Config&) { return std::optional<OptionValue>(); };
  key.set = [](Config& config, const OptionValue& value) {
    for (const Preset& preset : model_presets()) {
      if (preset.name != std::get<std::string>(value)) continue;
      for (const auto& [name, setting] : preset.values) {
        find_config_key("model", name)->set(config, setting);
      }
    }
  };
  return key;
}

}  // namespace xgrad::detail

#include <xgrad/train/config/groups.hpp>

#include <limits>

#include <xgrad/data/option_text.hpp>

namespace xgrad::detail {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Found = std::optional<OptionValue>;

}  // namespace

const std::vector<GroupKey>& group_keys() {
  using G = ParameterGroup;
  static const std::vector<GroupKey> keys = {
      {{"match", std::string(),
        "Pattern of parameter names: * matches any text, ? one character, dots too."},
       [](const G& g) -> Found { return g.match; },
       [](G& g, const OptionValue& v) { g.match = std::get<std::string>(v); }},
      {{"lr", 1.0, "Multiplies the learning rate.", 0, kInfinity},
       [](const G& g) { return g.lr_scale == 1.0 ? Found() : g.lr_scale; },
       [](G& g, const OptionValue& v) { g.lr_scale = std::get<double>(v); }},
      {{"weight_decay", 0.0,
        "Weight decay of these parameters, biases and norms too; not set: as optim.weight_decay "
        "says.",
        0, kInfinity},
       [](const G& g) { return g.weight_decay ? Found(*g.weight_decay) : Found(); },
       [](G& g, const OptionValue& v) { g.weight_decay = std::get<double>(v); }},
      {{"freeze", false, "Keeps these parameters unchanged."},
       [](const G& g) { return g.freeze ? Found(true) : Found(); },
       [](G& g, const OptionValue& v) { g.freeze = std::get<bool>(v); }},
  };
  return keys;
}

std::vector<std::string> group_literals(const std::vector<ParameterGroup>& groups) {
  std::vector<std::string> literals;
  for (const ParameterGroup& group : groups) {
    std::string text;
    for (const GroupKey& key : group_keys()) {
      const Found value = key.get(group);
      if (value) text += (text.empty() ? "" : ", ") + key.spec.name + " = " + to_literal(*value);
    }
    literals.push_back("{" + text + "}");
  }
  return literals;
}

}  // namespace xgrad::detail

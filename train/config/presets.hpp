// The presets of [model]: named sets of defaults.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <xgrad/train/config/keys.hpp>

namespace xgrad::detail {

/// One preset: values that replace the defaults of keys of [model].
struct Preset {
  std::string name;
  std::vector<std::pair<std::string, OptionValue>> values;
};

/// All presets.
const std::vector<Preset>& model_presets();

/// The row of model.preset. A Config stores the values that a preset sets, not its name.
ConfigKey preset_key();

}  // namespace xgrad::detail

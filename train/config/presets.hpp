// The table of [model] preset: settings by a name.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <xgrad/train/config/keys.hpp>

namespace xgrad::detail {

/// A row: the defaults that keys of [model] have in its place.
struct Preset {
  std::string name;
  std::vector<std::pair<std::string, OptionValue>> values;
};

/// All of them.
const std::vector<Preset>& model_presets();

/// The row of model.preset. A Config does not hold it, but the values that it sets.
ConfigKey preset_key();

}  // namespace xgrad::detail

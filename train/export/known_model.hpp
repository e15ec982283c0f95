// The [model] settings that an exporter supports. It refuses others by name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// Supported keys of [model] with their supported values: words, or "true", "false" and numbers as
/// in TOML. An empty list allows any value.
using KnownModel = std::map<std::string, std::vector<std::string>>;

/// Settings that all exporters that rebuild models support, train/export/check_npz.py included.
KnownModel plain_encoder();

/// Returns the unsupported settings of a config, such as `model.norm = "post"`: known keys with
/// other values, and unknown keys that are not at their defaults.
std::vector<std::string> unknown_settings(const Config& config, const KnownModel& known);

}  // namespace xgrad

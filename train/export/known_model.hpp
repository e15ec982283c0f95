// What a program that rebuilds models from their configs, as every export does, knows of [model].
#pragma once

#include <map>
#include <string>
#include <vector>

#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// The keys of [model] that it handles, and their values: words, or "true", "false" and numbers as
/// TOML has them; an empty list stands for any value.
using KnownModel = std::map<std::string, std::vector<std::string>>;

/// What every export that rebuilds models handles, train/export/check_npz.py among them.
KnownModel plain_encoder();

/// The settings that it does not know, as `model.norm = "post"`: a known key with another word, or
/// any other key that is not at its default.
std::vector<std::string> unknown_settings(const Config& config, const KnownModel& known);

}  // namespace xgrad

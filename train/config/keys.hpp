// The table that defines every key of a config. Not installed.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <xgrad/train/config/config.hpp>

namespace xgrad::detail {

/// A row: the key, and where its value lives in a Config.
struct ConfigKey {
  std::string section;
  OptionSpec spec;
  std::function<std::optional<OptionValue>(const Config&)>
      get;  ///< nothing: not given, and without a default
  std::function<void(Config&, const OptionValue&)> set;
  bool execution = false;               ///< concerns only how a run is executed, not its result
  std::vector<std::string> users = {};  ///< values of the section's `name` that read it; empty: all

  bool read_by(const std::string& user) const;
  std::string name() const { return section + "." + spec.name; }
};

/// All keys but the tasks' own, in the order in which they are printed.
const std::vector<ConfigKey>& config_keys();

/// The sections, in that order.
const std::vector<std::string>& config_sections();

/// Nullptr when there is none.
const ConfigKey* find_config_key(std::string_view section, std::string_view name);

/// Whether it means anything for what the config has chosen: its optimizer, its schedule.
bool is_read(const ConfigKey& key, const Config& config);

}  // namespace xgrad::detail

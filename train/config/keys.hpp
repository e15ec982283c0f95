// The table that defines every key of a config, the rules between keys, and suggestions for
// misspelt ones.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <xgrad/train/config/config.hpp>

namespace xgrad::detail {

inline bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// A key, with functions that read and write its value in an `Owner`.
template <class Owner>
struct Key {
  OptionSpec spec;
  /// Reads the value. Nothing: the key is not given and has no default.
  std::function<std::optional<OptionValue>(const Owner&)> get;
  std::function<void(Owner&, const OptionValue&)> set;
};

/// A row of the table.
struct ConfigKey : Key<Config> {
  std::string section;
  bool execution = false;  ///< changes how a run is executed, not its result
  /// Parts that use the key, as choosing_key() of the section names them; empty: all.
  std::vector<std::string> users = {};

  /// Whether a part that `chosen`, the value of choosing_key(), names uses the key.
  bool read_by(const std::string& chosen) const;
  std::string name() const { return section + "." + spec.name; }
};

/// All keys except those of tasks, in the order in which they are printed.
const std::vector<ConfigKey>& config_keys();

/// The sections, in the order in which they are printed.
const std::vector<std::string>& config_sections();

/// The key of this name, or nullptr.
const ConfigKey* find_config_key(std::string_view section, std::string_view name);

/// The key that chooses among the parts of a section: "kind" in [model], "hooks" in [log],
/// otherwise "name".
const char* choosing_key(std::string_view section);

/// Whether this program has all parts that `chosen`, the value of choosing_key(), names.
bool is_known(std::string_view section, const std::string& chosen);

/// Whether a part that the config chose uses the key.
bool is_read(const ConfigKey& key, const Config& config);

/// The keys of optim.groups, an array of tables in the config.
using GroupKey = Key<ParameterGroup>;
const std::vector<GroupKey>& group_keys();

/// A value of model.preset: values that replace the defaults of keys of [model].
struct Preset {
  std::string name;
  std::vector<std::pair<std::string, OptionValue>> values;
};
const std::vector<Preset>& model_presets();

/// Adds a part to the table of keys: its name to the choices of the section's `kind`, `name` or
/// `hooks`, and its own keys, which `own` stores. Throws ConfigError when the name or a key is
/// taken or has a wrong form, or when `keys` names something else than a key of other parts.
void add_part(const std::string& section, const PartEntry& part, Options& (*own)(Config&));

/// The names in log.hooks, which commas separate; spaces around them do not count.
std::vector<std::string> hooks_in(const std::string& list);

/// Says which name in log.hooks is not a hook of the program; empty if all are.
std::string problem_of_hooks(const std::string& list);

/// A rule between keys that a config breaks.
struct Inconsistency {
  std::vector<std::string> keys;  ///< keys of the rule; the message is about the first
  std::string text;
};

std::vector<Inconsistency> inconsistencies(const Config& config);

/// Says what is wrong with the path of a file or directory to be created; empty if nothing is.
std::string flaw_of_new_path(const std::string& path);

/// Throws ConfigError if something is wrong with `path`, a new directory named after `file`.
void check_named_after(const std::string& file, const std::string& path);

/// Returns "; did you mean optim.lr?" for an unknown key, or else a list of the section's keys.
/// `task_keys` are the keys of the config's task.
std::string suggest_key(const std::string& section, const std::string& key,
                        const std::vector<OptionSpec>& task_keys);
/// Makes a suggestion for a key that is outside of every section.
std::string suggest_anywhere(const std::string& key);
/// Makes a suggestion for an unknown section.
std::string suggest_section(const std::string& section);

}  // namespace xgrad::detail

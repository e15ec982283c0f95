// The table that defines every key of a config, the functions that build its rows, the rules
// between keys, and suggestions for misspelt keys.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
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
  /// Returns the value, or nothing if the key is not given and has no default.
  std::function<std::optional<OptionValue>(const Owner&)> get;
  std::function<void(Owner&, const OptionValue&)> set;
};

/// A row of the table.
struct ConfigKey : Key<Config> {
  std::string section;
  bool execution = false;  ///< changes how a run is executed, not its result
  /// The model kinds, optimizers, schedules or hooks ("parts") that use the key; empty: all.
  std::vector<std::string> users = {};

  /// Whether a chosen part uses the key. `chosen` is the value of the section's choosing_key(),
  /// such as "adamw" in [optim]; in [log], it is a list of hooks.
  bool read_by(const std::string& chosen) const;
  /// Whether the value determines the result of a run.
  bool determines_result() const { return !execution && section != "expect"; }
  std::string name() const { return section + "." + spec.name; }
};

/// All keys except the keys of tasks, in the order in which they are printed.
const std::vector<ConfigKey>& config_keys();

/// The sections, in the order in which they are printed.
const std::vector<std::string>& config_sections();

/// The key of this name, or nullptr.
const ConfigKey* find_config_key(std::string_view section, std::string_view name);

/// The key with which a section chooses its part: "kind" in [model], "hooks" in [log], else "name".
const char* choosing_key(std::string_view section);

/// Whether this program has the part `chosen`; in [log], all hooks in the list `chosen`.
bool is_known(std::string_view section, const std::string& chosen);

/// Whether a part that the config chooses uses the key.
bool is_read(const ConfigKey& key, const Config& config);

/// The keys of optim.groups, an array of tables in the config.
using GroupKey = Key<ParameterGroup>;
const std::vector<GroupKey>& group_keys();

/// A value of model.preset, and the defaults of [model] that it sets.
using Preset = std::pair<std::string, std::vector<std::pair<std::string, OptionValue>>>;
const std::vector<Preset>& model_presets();

/// Adds a part to the table of keys. The section's choosing_key() then accepts the part's name. The
/// part's own keys become rows, with values in own(config). Throws ConfigError when the name or a
/// key is taken or has a wrong form, or when part.keys has a key that belongs to no other part.
void add_part(const std::string& section, const PartEntry& part, Options& (*own)(Config&));

/// The names in log.hooks, which are separated by commas, with or without spaces.
std::vector<std::string> hooks_in(const std::string& list);

/// Says which name in log.hooks is not a hook of the program; empty if all are.
std::string problem_of_hooks(const std::string& list);

/// A function that check_rules() calls for each rule that a config breaks. `keys` are the keys of
/// the rule. `text` says what is wrong with the first of these keys.
using Report = std::function<void(const std::vector<std::string>& keys, const std::string& text)>;
void check_rules(const Config& config, const Report& report);

/// Says what is wrong with the path of a file or directory to be created; empty if nothing is.
std::string flaw_of_new_path(const std::string& path);

/// Throws ConfigError if something is wrong with `path`, a new directory named after `file`.
void check_named_after(const std::string& file, const std::string& path);

/// Returns "; did you mean optim.lr?" for an unknown key; if no key is similar, a list of all keys
/// of the section. `task_keys` are the keys of the config's task.
std::string suggest_key(const std::string& section, const std::string& key,
                        const std::vector<OptionSpec>& task_keys);
/// These return a suggestion: for a key outside of every section, for an unknown section, and for a
/// name that may be a key, a section or "section.key".
std::string suggest_anywhere(const std::string& key);
std::string suggest_section(const std::string& section);
std::string suggest(const std::string& name);

using Keys = std::vector<ConfigKey>;

// The rows of [model], [train], [optim], [schedule] and [expect], and of [log], [run] and [mpi]
// together, in the order in which they are printed.
Keys model_keys();
Keys train_keys();
Keys optim_keys();
Keys schedule_keys();
Keys expect_keys();
Keys execution_keys();

inline Keys all_of(const std::vector<Keys>& parts) {
  Keys all;
  for (const Keys& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

struct Limits {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};
inline Limits between(double min, double max) {
  return {min, max};
}
inline constexpr double kMany = 1e12;  // limit of steps: more than any run has, far from overflow
inline const Limits kCount = {0, kMany}, kShare = {0, 1}, kFraction = {0, below(1)},
                    kPositive = {.min = above(0)}, kNotNegative = {.min = 0},
                    kAtLeastOne = {.min = 1};

// The type in which an OptionValue holds a field.
template <class Field>
using Held = std::conditional_t<std::is_integral_v<Field> && !std::is_same_v<Field, bool>,
                                std::int64_t, Field>;

template <class Field>
std::optional<OptionValue> to_value(const Field& field) {
  if constexpr (requires { field.has_value(); }) {
    return field ? to_value(*field) : std::nullopt;
  } else if constexpr (requires { field.second; }) {
    return Numbers{field.first, field.second};
  } else {
    return Held<Field>(field);
  }
}

template <class Field>
void assign(Field& field, const OptionValue& value) {
  if constexpr (requires { field.has_value(); }) {
    assign(field.emplace(), value);
  } else if constexpr (requires { field.second; }) {
    const Numbers& pair = std::get<Numbers>(value);
    field = {pair[0], pair[1]};
  } else {
    field = Field(std::get<Held<Field>>(value));
  }
}

// Makes a key whose value is in the field that `place` returns. Its default is the value of the
// field in a new Owner; a std::optional field has no default.
template <class Owner, class Place>
Key<Owner> key_at(const Place& place, const char* name, const char* help, Limits limits) {
  Owner fresh;
  auto first = place(fresh);
  if constexpr (requires { first.has_value(); }) {
    if (!first) first.emplace();
  }
  return {{name, *to_value(first), help, limits.min, limits.max},
          [place](const Owner& owner) { return to_value(place(const_cast<Owner&>(owner))); },
          [place](Owner& owner, const OptionValue& value) { assign(place(owner), value); }};
}

// Makes the rows of a section. Their values are members of the struct that `part` returns.
template <class Part>
struct SectionKeys {
  const char* section;
  Part& (*part)(Config&);

  template <class Member>
  ConfigKey operator()(const char* name, Member field, Limits limits, const char* help) const {
    const auto place = [ part = part, field ](Config & config) -> auto& {
      return part(config).*field;
    };
    return {key_at<Config>(place, name, help, limits), section};
  }

  template <class Member>
  ConfigKey operator()(const char* name, Member field, const char* help) const {
    return (*this)(name, field, Limits(), help);
  }

  ConfigKey operator()(const char* name, std::string Part::*field, std::vector<std::string> choices,
                       const char* help) const {
    ConfigKey key = (*this)(name, field, help);
    key.spec.choices = std::move(choices);
    return key;
  }
};

}  // namespace xgrad::detail

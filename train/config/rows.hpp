// Functions that build the rows of the table of config keys. This header is not installed.
#pragma once

#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <xgrad/train/config/keys.hpp>

namespace xgrad::detail {

using Keys = std::vector<ConfigKey>;

// The rows of [model], in the order in which they are printed.
Keys model_keys();
// The rows of [train].
Keys train_keys();
// The rows of [expect].
Keys expect_keys();

// Concatenates the parts.
inline Keys joined(const std::vector<Keys>& parts) {
  Keys all;
  for (const Keys& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// Marks a key that changes how a run is executed, not its result.
inline ConfigKey execution(ConfigKey key) {
  key.execution = true;
  return key;
}

struct Limits {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};

inline Limits at_least(double min) {
  return {.min = min};
}
inline Limits between(double min, double max) {
  return {min, max};
}
inline const Limits kFraction = {0, below(1)};  // [0, 1)
inline constexpr double kMany = 1e12;           // limit of steps: above any run, far from overflow

template <class Field>
OptionValue to_value(const Field& field) {
  if constexpr (std::is_integral_v<Field> && !std::is_same_v<Field, bool>) {
    return std::int64_t(field);
  } else {
    return field;
  }
}

template <class Field>
Field from_value(const OptionValue& value) {
  if constexpr (std::is_integral_v<Field> && !std::is_same_v<Field, bool>) {
    return Field(std::get<std::int64_t>(value));
  } else {
    return std::get<Field>(value);
  }
}

// Makes the row of a key whose value `place` returns for a config. The default is the value in a
// new Config.
template <class Place>
ConfigKey row(const char* section, const char* name, Place place, const char* help, Limits limits,
              std::vector<std::string> choices) {
  using Field = std::remove_cvref_t<decltype(place(std::declval<Config&>()))>;
  Config fresh;
  ConfigKey key;
  key.section = section;
  key.get = [place](const Config& config) {
    return to_value<Field>(place(const_cast<Config&>(config)));
  };
  key.set = [place](Config& config, const OptionValue& value) {
    place(config) = from_value<Field>(value);
  };
  key.spec = {
      name, to_value<Field>(place(fresh)), help, limits.min, limits.max, std::move(choices)};
  return key;
}

// Makes the rows of the keys of a section, which is stored in member `part` of a Config.
template <class Part>
struct SectionKeys {
  const char* section;
  Part Config::*part;

  template <class Field>
  ConfigKey operator()(const char* name, Field Part::*field, const char* help,
                       Limits limits = {}) const {
    const auto place = [part = part, field](Config& config) -> Field& {
      return config.*part.*field;
    };
    return row(section, name, place, help, limits, {});
  }

  ConfigKey operator()(const char* name, std::string Part::*field, const char* help,
                       std::vector<std::string> choices) const {
    const auto place = [part = part, field](Config& config) -> std::string& {
      return config.*part.*field;
    };
    return row(section, name, place, help, {}, std::move(choices));
  }
};

}  // namespace xgrad::detail

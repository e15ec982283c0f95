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

// The rows of [model], [train], [optim], [schedule] and [expect], in the order in which they are
// printed, and those of [log], [run] and [mpi].
Keys model_keys();
Keys train_keys();
Keys optim_keys();
Keys schedule_keys();
Keys expect_keys();
Keys execution_keys();

// Concatenates the parts.
inline Keys all_of(const std::vector<Keys>& parts) {
  Keys all;
  for (const Keys& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
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
std::optional<OptionValue> to_value(const Field& field) {
  if constexpr (requires { field.has_value(); }) {
    return field ? to_value(*field) : std::nullopt;
  } else if constexpr (std::is_integral_v<Field> && !std::is_same_v<Field, bool>) {
    return std::int64_t(field);
  } else {
    return field;
  }
}

template <class Field>
void assign(Field& field, const OptionValue& value) {
  if constexpr (requires { field.has_value(); }) {
    assign(field.emplace(), value);
  } else if constexpr (std::is_integral_v<Field> && !std::is_same_v<Field, bool>) {
    field = Field(std::get<std::int64_t>(value));
  } else {
    field = std::get<Field>(value);
  }
}

// Makes a key whose value is in the field that `place` returns. The default is the value in a new
// Owner; a std::optional has none.
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

// Makes the rows of a section, whose values are members of the part of a Config that `part`
// returns.
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

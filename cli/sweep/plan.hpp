// The runs of a sweep: combinations of values, their directories and their lengths.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace xgrad::commands {

/// A config key and its values, as TOML literals.
struct Axis {
  std::string key;
  std::vector<std::string> values;
};

/// Config keys with one value each.
using Setting = std::vector<std::pair<std::string, std::string>>;

/// All combinations of values; the last axis varies fastest.
std::vector<Setting> grid(const std::vector<Axis>& axes);

/// Draws `count` different settings, or all if there are fewer, and keeps their order. The same
/// seed draws the same settings.
std::vector<Setting> drawn(const std::vector<Setting>& settings, std::size_t count,
                           std::uint64_t seed);

/// The directory name of a run, as "optim.lr=0.001,model.layers=1". Drops quotes and replaces
/// characters unfit for a file name by _. Throws ConfigError when the name is too long.
std::string directory_name(const Setting& setting);

/// The lengths of the rounds of successive halving, as fractions of a run's steps. Each round but
/// the last keeps the better half of the settings: {1} for one setting, {1/4, 1/2, 1} for three or
/// four. Jamieson & Talwalkar 2016.
std::vector<double> rungs(std::size_t settings);

}  // namespace xgrad::commands

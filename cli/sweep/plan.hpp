// Which runs a sweep is made of.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace xgrad::commands {

/// A key and the values that it takes, as TOML literals.
struct Axis {
  std::string key;
  std::vector<std::string> values;
};

/// Keys with one value each.
using Setting = std::vector<std::pair<std::string, std::string>>;

/// Every combination, the last axis fastest.
std::vector<Setting> grid(const std::vector<Axis>& axes);

/// `count` of them, each at most once, in their order; all when there are no more. A function of
/// the seed.
std::vector<Setting> drawn(const std::vector<Setting>& settings, std::size_t count,
                           std::uint64_t seed);

/// "optim.lr=0.001,model.layers=1", with what a file name should not hold replaced. Throws
/// ConfigError when it is too long for one.
std::string directory_name(const Setting& setting);

/// The parts of a run's steps after which successive halving keeps the better half of so many
/// settings: {1} for one setting, {1/4, 1/2, 1} for three or four. Jamieson & Talwalkar 2016.
std::vector<double> rungs(std::size_t settings);

}  // namespace xgrad::commands

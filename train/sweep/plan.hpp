// The runs of a sweep: combinations of values, their directories and their lengths.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/train/config/config.hpp>
#include <xgrad/train/sweep/sweep.hpp>

namespace xgrad {

/// Config keys with one value each, as TOML literals.
using Setting = std::vector<std::pair<std::string, std::string>>;

/// A run of a sweep.
struct SweptRun {
  std::string directory;
  Setting setting;  ///< the keys that tell it from the others
};

/// A setting without the seed. Each round trains it once per seed.
struct Trial {
  Setting setting;
  Config config;  ///< with the setting, at full length
};

/// The plan of a sweep.
class SweepPlan {
 public:
  /// Throws ConfigError if a config is wrong, or if two runs would share a directory.
  explicit SweepPlan(const SweepOptions& options);

  /// The directory of the sweep.
  const std::string& out() const { return out_; }
  /// Every combination of values, or some that are drawn at random. The same train.seed draws the
  /// same ones. The last key varies fastest.
  const std::vector<Trial>& trials() const { return trials_; }
  /// The number of seeds of each trial.
  std::size_t seeds() const { return seeds_.size(); }

  /// The runs of a trial, one per seed, with steps and schedule that fit into `part` of the
  /// config's steps.
  std::vector<SweptRun> runs_of(const Trial& trial, double part) const;

 private:
  std::string out_;
  std::vector<std::string> seeds_{""};  // "": that of the config
  std::vector<Trial> trials_;
};

/// The overrides of a run: those of all runs, then its setting.
std::vector<std::string> overrides_of(const SweepOptions& options, const Setting& setting);

/// `part` of a number of steps, at least 1.
std::uint64_t part_of(std::uint64_t steps, double part);

/// The lengths of the rounds of successive halving, as fractions of a run's steps. Each round but
/// the last keeps the better half of the settings: {1} for one setting, {1/4, 1/2, 1} for three or
/// four. Jamieson & Talwalkar 2016.
std::vector<double> rungs(std::size_t settings);

}  // namespace xgrad

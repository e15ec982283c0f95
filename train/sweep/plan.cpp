#include <xgrad/train/sweep/plan.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <set>
#include <sstream>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/random.hpp>
#include <xgrad/storage/disk/folder.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/config/keys.hpp>
#include <xgrad/train/config/toml.hpp>
#include <xgrad/train/run/results.hpp>

namespace xgrad {

namespace {

// Draws `count` different settings, or all if there are fewer, and keeps their order.
std::vector<Setting> drawn(const std::vector<Setting>& settings, std::size_t count,
                           std::uint64_t seed) {
  const Rng rng = Rng(seed) / "sweep";
  std::vector<std::size_t> order(settings.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return rng.uniform(i); });
  order.resize(std::min(count, order.size()));
  std::ranges::sort(order);
  std::vector<Setting> chosen;
  for (const std::size_t i : order) chosen.push_back(settings[i]);
  return chosen;
}

// "optim.lr=0.001,model.layers=1", without quotes and with _ for characters unfit for a file name.
std::string directory_name(const Setting& setting) {
  constexpr std::size_t longest = 200;
  std::string name;
  for (const auto& [key, value] : setting) {
    name += (name.empty() ? "" : ",") + key + "=";
    for (const char c : value) {
      if (c == '"' || c == '\'') continue;
      const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-';
      name += plain ? c : '_';
    }
  }
  check<ConfigError>(name.size() <= longest, "sweep: ", name,
                     " is too long for the name of a directory");
  return name.empty() ? "only" : name;
}

// The setting with a seed; "": the config's seed.
Setting with_seed(Setting setting, const std::string& seed) {
  if (!seed.empty()) setting.emplace_back("train.seed", seed);
  return setting;
}

// Overrides steps and schedule so that the whole schedule fits into `part` of the steps.
void shorten(Setting& setting, const Config& config, double part) {
  const auto set = [&](const char* key, std::uint64_t steps) {
    setting.emplace_back(key, std::to_string(steps));
  };
  set("train.steps", part_of(config.train.steps, part));
  set("schedule.warmup", std::uint64_t(part * double(config.schedule.warmup)));
  if (config.schedule.name == "plateau" &&
      config.train.evaluate_every > 0) {  // its patience counts validations
    set("train.evaluate_every", part_of(config.train.evaluate_every, part));
  }
  if (config.schedule.name == "step") set("schedule.every", part_of(config.schedule.every, part));
}

}  // namespace

SweepPlan plan_sweep(const SweepOptions& options) {
  SweepPlan plan{.out = options.out};
  if (plan.out.empty()) {
    plan.out = "runs/sweep-" + std::filesystem::path(options.config).stem().string();
    detail::check_named_after(options.config, plan.out);
  }
  std::vector<Setting> settings{{}};
  std::set<std::string> given, names;
  for (const std::string& text : options.over) {
    const auto [key, values] = detail::parse_axis(text);
    check<ConfigError>(given.insert(key).second, "--over: ", key, " is given twice");
    if (key == "train.seed") {
      plan.seeds = values;
      continue;
    }
    std::vector<Setting> longer;
    for (const Setting& setting : settings) {
      for (const std::string& value : values) {
        longer.push_back(setting);
        longer.back().emplace_back(key, value);
      }
    }
    settings = std::move(longer);
  }
  check<ConfigError>(plan.seeds.size() <= kMostSeeds, "--over train.seed: give at most ",
                     kMostSeeds, " seeds");
  for (const Setting& setting : settings) {
    for (const std::string& seed : plan.seeds) {
      const std::string name = directory_name(with_seed(setting, seed));
      check<ConfigError>(names.insert(name).second, "--over: two runs have the name ", name);
    }
  }
  const Config base = load_config(options.config, options.overrides);
  if (options.random > 0) settings = drawn(settings, options.random, base.train.seed);
  for (Setting& setting : settings) {
    Trial& trial = plan.trials.emplace_back(Trial{std::move(setting)});
    trial.config = load_config(options.config, overrides_of(options, trial.setting));
    check<ConfigError>(!options.halving || trial.config.train.steps > 0,
                       "sweep: --halving needs train.steps");
  }
  return plan;
}

std::vector<SweptRun> runs_of(const SweepPlan& plan, const Trial& trial, double part) {
  std::vector<SweptRun> runs;
  for (const std::string& seed : plan.seeds) {
    Setting setting = with_seed(trial.setting, seed);
    if (part < 1) shorten(setting, trial.config, part);
    runs.push_back({plan.out + "/" + directory_name(setting), std::move(setting)});
  }
  return runs;
}

std::vector<std::string> overrides_of(const SweepOptions& options, const Setting& setting) {
  std::vector<std::string> all = options.overrides;
  for (const auto& [key, value] : setting) all.push_back(key + "=" + value);
  return all;
}

std::uint64_t part_of(std::uint64_t steps, double part) {
  return std::max<std::uint64_t>(1, std::uint64_t(std::llround(part * double(steps))));
}

std::vector<double> rungs(std::size_t settings) {
  std::vector<double> parts{1};
  for (std::size_t left = settings; left > 1; left = (left + 1) / 2) {
    parts.insert(parts.begin(), parts.front() / 2);
  }
  return parts;
}

std::string local_locks_option(std::string_view mounts, std::string_view device) {
  static constexpr std::array kLocal = {"nolock", "localflock", "local_lock=all",
                                        "local_lock=flock"};
  std::istringstream lines{std::string(mounts)};
  // A line is "ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS [TAGS...] - TYPE SOURCE OPTIONS".
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    const std::vector<std::string> all(std::istream_iterator<std::string>(words), {});
    if (all.size() < 3 || all[2] != device) continue;
    std::istringstream options(all.back());
    for (std::string option; std::getline(options, option, ',');) {
      if (std::find(kLocal.begin(), kLocal.end(), option) != kLocal.end()) return option;
    }
  }
  return "";
}

void check_claims_work(const std::string& folder) {
  constexpr const char* kAdvice =
      ", so two workers could train the same run; put --out on another file system";
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) detail::fail_io(folder, "cannot read");
  std::ifstream mounts("/proc/self/mountinfo");
  const std::string option = local_locks_option(
      std::string(std::istreambuf_iterator<char>(mounts), {}),
      std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev)));
  check<IoError>(option.empty(), folder, ": its file system is mounted with ", option,
                 ": locks are not seen by other machines", kAdvice);

  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const Folder place(folder);
  const std::string name = std::string(".locks-") + host + "-" + std::to_string(::getpid()),
                    path = place.path_of(name);
  const detail::Descriptor first = place.open(name, O_WRONLY | O_CREAT),
                           second = place.open(name, O_WRONLY);
  place.remove(name);
  check<IoError>(first.lock(path) && !second.lock(path), folder,
                 ": locks of files have no effect here", kAdvice);
}

std::optional<detail::Descriptor> claim(const std::string& log) {
  const auto [parent, name] = folder_and_name(log);
  const Folder folder(parent);
  detail::Descriptor file = folder.open(name, O_WRONLY | O_CREAT);
  folder.check_single(name);
  return file.lock(log) ? std::optional(std::move(file)) : std::nullopt;
}

std::optional<RunHistory> history_of(const std::string& directory) {
  const bool begun = std::filesystem::exists(status_of(directory + "/config.toml"));
  return begun ? std::optional(read_run(directory)) : std::nullopt;
}

}  // namespace xgrad

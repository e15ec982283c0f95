#include <xgrad/cli/sweep/plan.hpp>

#include <algorithm>
#include <cctype>
#include <numeric>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/random.hpp>

namespace xgrad::commands {

std::vector<Setting> grid(const std::vector<Axis>& axes) {
  std::vector<Setting> settings{{}};
  for (const Axis& axis : axes) {
    std::vector<Setting> longer;
    for (const Setting& setting : settings) {
      for (const std::string& value : axis.values) {
        longer.push_back(setting);
        longer.back().emplace_back(axis.key, value);
      }
    }
    settings = std::move(longer);
  }
  return settings;
}

std::vector<Setting> drawn(const std::vector<Setting>& settings, std::size_t count,
                           std::uint64_t seed) {
  const Rng rng = Rng(seed) / "sweep";
  std::vector<std::size_t> order(settings.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rng.uniform(a) < rng.uniform(b); });
  order.resize(std::min(count, order.size()));
  std::sort(order.begin(), order.end());
  std::vector<Setting> chosen;
  for (std::size_t i : order) chosen.push_back(settings[i]);
  return chosen;
}

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
  if (name.empty()) name = "only";
  check<ConfigError>(name.size() <= longest, "sweep: ", name,
                     " is too long for the name of a directory");
  return name;
}

std::vector<double> rungs(std::size_t settings) {
  std::vector<double> parts{1};
  for (std::size_t left = settings; left > 1; left = (left + 1) / 2) {
    parts.insert(parts.begin(), parts.front() / 2);
  }
  return parts;
}

}  // namespace xgrad::commands

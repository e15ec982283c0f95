#include <xgrad/train/run/hooks.hpp>

#include <algorithm>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

struct Entry {
  PartEntry part;
  std::function<std::shared_ptr<TrainerHooks>(const Options&)> make;
};

std::vector<Entry>& entries() {
  static std::vector<Entry> all;
  return all;
}

const Entry* find(const std::string& name) {
  const auto found = std::find_if(entries().begin(), entries().end(),
                                  [&](const Entry& entry) { return entry.part.name == name; });
  return found == entries().end() ? nullptr : &*found;
}

}  // namespace

void add_hook(const PartEntry& part,
              std::function<std::shared_ptr<TrainerHooks>(const Options&)> make) {
  detail::add_part("log", part, [](Config& config) -> Options& { return config.hook_options; });
  entries().push_back({part, std::move(make)});
}

std::vector<std::shared_ptr<TrainerHooks>> make_hooks(const Config& config) {
  const std::string problem = detail::problem_of_hooks(config.log_hooks);
  check<ConfigError>(problem.empty(), "log.hooks: ", problem);
  std::vector<std::shared_ptr<TrainerHooks>> hooks;
  for (const std::string& name : detail::hooks_in(config.log_hooks)) {
    const Entry* entry = find(name);
    Options own;
    for (const OptionSpec& option : entry->part.options) {
      const auto given = config.hook_options.find(option.name);
      own[option.name] = given == config.hook_options.end() ? option.fallback : given->second;
    }
    hooks.push_back(entry->make(own));
  }
  return hooks;
}

}  // namespace xgrad

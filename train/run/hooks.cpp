#include <xgrad/train/run/hooks.hpp>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/config/keys.hpp>
#include <xgrad/train/model/parts.hpp>

namespace xgrad {

void add_hook(const PartEntry& part, HookMaker make) {
  detail::add_part("log", part, [](Config& config) -> Options& { return config.hook_options; });
  detail::added<HookMaker>()[part.name] = {part.options, std::move(make)};
}

std::vector<std::shared_ptr<TrainerHooks>> make_hooks(const Config& config) {
  const std::string problem = detail::problem_of_hooks(config.log_hooks);
  check<ConfigError>(problem.empty(), "log.hooks: ", problem);
  std::vector<std::shared_ptr<TrainerHooks>> hooks;
  for (const std::string& name : detail::hooks_in(config.log_hooks)) {
    const auto& [options, make] = detail::added<HookMaker>().at(name);
    Options own;
    for (const OptionSpec& option : options) {
      const auto given = config.hook_options.find(option.name);
      own[option.name] = given == config.hook_options.end() ? option.fallback : given->second;
    }
    hooks.push_back(make(own));
  }
  return hooks;
}

}  // namespace xgrad

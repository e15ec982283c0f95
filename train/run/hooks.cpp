#include <xgrad/train/run/hooks.hpp>

#include <algorithm>
#include <sstream>

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

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == text.npos ? "" : text.substr(first, last - first + 1);
}

}  // namespace

void add_hook(const PartEntry& part,
              std::function<std::shared_ptr<TrainerHooks>(const Options&)> make) {
  check<ConfigError>(find(part.name) == nullptr, "log.hooks: '", part.name, "' exists already");
  detail::add_part("log", part, [](Config& config) -> Options& { return config.hook_options; });
  entries().push_back({part, std::move(make)});
}

std::vector<std::shared_ptr<TrainerHooks>> make_hooks(const Config& config) {
  std::vector<std::shared_ptr<TrainerHooks>> hooks;
  std::istringstream names(config.log_hooks);
  for (std::string name; std::getline(names, name, ',');) {
    name = trimmed(name);
    const Entry* entry = find(name);
    if (entry == nullptr) {
      std::string known;
      for (const Entry& each : entries()) known += (known.empty() ? "" : ", ") + each.part.name;
      detail::fail<ConfigError>("log.hooks: there is no hook '", name, "'; there are ",
                                known.empty() ? "none: a program can add some" : known);
    }
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

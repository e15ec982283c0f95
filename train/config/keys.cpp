#include <xgrad/train/config/keys.hpp>

#include <algorithm>
#include <sstream>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/train/config/parts.hpp>
#include <xgrad/train/config/section_keys.hpp>

namespace xgrad::detail {

static bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Hooks may be several, or none.
static std::vector<std::string> parts_in(std::string_view section, const std::string& chosen) {
  return section == "log" ? hooks_in(chosen) : std::vector{chosen};
}

bool ConfigKey::read_by(const std::string& chosen) const {
  const std::vector<std::string> parts = parts_in(section, chosen);
  return users.empty() || std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
           return contains(users, part);
         });
}

// Parts of the program add rows to it.
static Keys& table() {
  const SectionKeys<Config> task{"task", [](Config& c) -> Config& { return c; }};
  static Keys keys = all_of(
      {{task("name", &Config::task, "Name of the task, required; `xgrad tasks` lists them.")},
       model_keys(),
       optim_keys(),
       schedule_keys(),
       train_keys(),
       execution_keys(),
       expect_keys()});
  return keys;
}

const std::vector<ConfigKey>& config_keys() {
  return table();
}

const char* choosing_key(std::string_view section) {
  return section == "model" ? "kind" : section == "log" ? "hooks" : "name";
}

static std::vector<std::string>& hooks() {
  static std::vector<std::string> names;
  return names;
}

std::vector<std::string> hooks_in(const std::string& list) {
  std::vector<std::string> names;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t first = part.find_first_not_of(' '), last = part.find_last_not_of(' ');
    names.push_back(first == part.npos ? "" : part.substr(first, last - first + 1));
  }
  return names;
}

std::string problem_of_hooks(const std::string& list) {
  for (const std::string& name : hooks_in(list)) {
    if (contains(hooks(), name)) continue;
    return "there is no hook " + excerpt(name) + "; there are " +
           (hooks().empty() ? "none: a program can add some" : joined(hooks()));
  }
  return "";
}

bool is_known(std::string_view section, const std::string& chosen) {
  const std::vector<std::string>& choices =
      section == "log" ? hooks() : find_config_key(section, choosing_key(section))->spec.choices;
  const std::vector<std::string> parts = parts_in(section, chosen);
  return std::all_of(parts.begin(), parts.end(),
                     [&](const std::string& part) { return contains(choices, part); });
}

static ConfigKey own_key(const std::string& section, const PartEntry& part, const OptionSpec& spec,
                         Options& (*own)(Config&)) {
  ConfigKey key;
  key.section = section;
  key.spec = spec;
  key.get = [own, spec](const Config& config) -> std::optional<OptionValue> {
    const Options& given = own(const_cast<Config&>(config));
    const auto found = given.find(spec.name);
    return found == given.end() ? spec.fallback : found->second;
  };
  key.set = [own, name = spec.name](Config& config, const OptionValue& value) {
    own(config)[name] = value;
  };
  key.execution = section == "log";
  key.users = {part.name};
  return key;
}

static void check_name(const std::string& name, const std::string& what) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  check<ConfigError>(!name.empty() && std::all_of(name.begin(), name.end(), fits), what, ": \"",
                     name, "\" is not a name of lower-case letters, digits and _");
}

void add_part(const std::string& section, const PartEntry& part, Options& (*own)(Config&)) {
  Keys& keys = table();
  const auto row = [&](const std::string& name) {
    return std::find_if(keys.begin(), keys.end(), [&](const ConfigKey& key) {
      return key.section == section && key.spec.name == name;
    });
  };
  check_name(part.name, section);
  check<ConfigError>(!is_known(section, part.name), section, ".", choosing_key(section), ": '",
                     part.name, "' exists already");
  for (const OptionSpec& option : part.options) {
    check_name(option.name, section + ", " + part.name);
    const auto same = [&](const OptionSpec& other) { return other.name == option.name; };
    check<ConfigError>(row(option.name) == keys.end() &&
                           std::count_if(part.options.begin(), part.options.end(), same) == 1,
                       section, ".", option.name, ": ", part.name,
                       " cannot have this key, because there is one");
  }
  for (const std::string& name : part.keys) {
    const auto key = row(name);
    check<ConfigError>(key != keys.end() && !key->users.empty(), section, ".", name, ": ",
                       part.name, " cannot read this key, because no other part has it");
  }
  OptionSpec& choice = row(choosing_key(section))->spec;
  (section == "log" ? hooks() : choice.choices).push_back(part.name);
  choice.help += " " + part.name + ": " + part.help;
  for (const std::string& name : part.keys) row(name)->users.push_back(part.name);
  const auto last = std::find_if(keys.rbegin(), keys.rend(),
                                 [&](const ConfigKey& key) { return key.section == section; });
  Keys added;
  for (const OptionSpec& option : part.options) {
    added.push_back(own_key(section, part, option, own));
  }
  keys.insert(last.base(), added.begin(), added.end());
}

const std::vector<std::string>& config_sections() {
  static const std::vector<std::string> sections = [] {
    std::vector<std::string> names;
    for (const ConfigKey& key : config_keys()) {
      if (names.empty() || names.back() != key.section) names.push_back(key.section);
    }
    return names;
  }();
  return sections;
}

const ConfigKey* find_config_key(std::string_view section, std::string_view name) {
  for (const ConfigKey& key : config_keys()) {
    if (key.section == section && key.spec.name == name) return &key;
  }
  return nullptr;
}

bool is_read(const ConfigKey& key, const Config& config) {
  if (key.users.empty()) return true;
  const auto name = find_config_key(key.section, choosing_key(key.section))->get(config);
  return key.read_by(std::get<std::string>(*name));
}

}  // namespace xgrad::detail

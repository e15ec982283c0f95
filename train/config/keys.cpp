#include <xgrad/train/config/keys.hpp>

#include <algorithm>
#include <map>
#include <sstream>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/nearest.hpp>
#include <xgrad/text/excerpt.hpp>

namespace xgrad::detail {

// log.hooks may name several hooks, or none; the other choosing keys name one part.
static std::vector<std::string> parts_in(std::string_view section, const std::string& chosen) {
  return section == "log" ? hooks_in(chosen) : std::vector{chosen};
}

bool ConfigKey::read_by(const std::string& chosen) const {
  return users.empty() || std::ranges::any_of(parts_in(section, chosen),
                                              [&](auto& part) { return contains(users, part); });
}

// Not const, because add_part() adds rows.
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
    part.erase(0, part.find_first_not_of(' '));
    names.push_back(part.substr(0, part.find_last_not_of(' ') + 1));
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
  return std::ranges::all_of(parts_in(section, chosen),
                             [&](auto& part) { return contains(choices, part); });
}

static ConfigKey own_key(const std::string& section, const PartEntry& part, const OptionSpec& spec,
                         Options& (*own)(Config&)) {
  const auto get = [own, spec](const Config& config) -> std::optional<OptionValue> {
    const Options& given = own(const_cast<Config&>(config));
    const auto found = given.find(spec.name);
    return found == given.end() ? spec.fallback : found->second;
  };
  const auto set = [own, name = spec.name](Config& config, const OptionValue& value) {
    own(config)[name] = value;
  };
  return {{spec, get, set}, section, /*execution=*/section == "log", {part.name}};
}

static void check_name(const std::string& name, const std::string& what) {
  constexpr const char* kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  check<ConfigError>(!name.empty() && name.find_first_not_of(kLetters) == name.npos, what, ": \"",
                     name, "\" is not a name of lower-case letters, digits and _");
}

void add_part(const std::string& section, const PartEntry& part, Options& (*own)(Config&)) {
  const auto row = [&](const std::string& name) {
    return const_cast<ConfigKey*>(find_config_key(section, name));  // one of table()
  };
  check_name(part.name, section);
  check<ConfigError>(!is_known(section, part.name), section, ".", choosing_key(section), ": '",
                     part.name, "' exists already");
  for (const OptionSpec& option : part.options) {
    check_name(option.name, section + ", " + part.name);
    check<ConfigError>(row(option.name) == nullptr &&
                           std::ranges::count(part.options, option.name, &OptionSpec::name) == 1,
                       section, ".", option.name, ": exists already, so ", part.name,
                       " cannot have it");
  }
  for (const std::string& name : part.keys) {
    const auto key = row(name);
    check<ConfigError>(key != nullptr && !key->users.empty(), section, ".", name, ": ", part.name,
                       " cannot read this key, because no other part has it");
  }
  OptionSpec& choice = row(choosing_key(section))->spec;
  (section == "log" ? hooks() : choice.choices).push_back(part.name);
  choice.help += " " + part.name + ": " + part.help;
  for (const std::string& name : part.keys) row(name)->users.push_back(part.name);
  Keys& keys = table();
  auto at = std::ranges::find(keys.rbegin(), keys.rend(), section, &ConfigKey::section).base();
  for (const OptionSpec& option : part.options) {
    at = keys.insert(at, own_key(section, part, option, own)) + 1;
  }
}

const std::vector<std::string>& config_sections() {
  static const std::vector<std::string> sections = [] {
    std::vector<std::string> names;
    for (const ConfigKey& key : config_keys()) names.push_back(key.section);
    names.erase(std::unique(names.begin(), names.end()), names.end());
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

// Translates key names of other libraries.
static std::string translated(const std::string& key) {
  static const std::map<std::string, std::vector<std::string>> words = {
      {"batch", {"batch_size"}},
      {"betas", {"beta1", "beta2"}},
      {"clip", {"clip_norm", "grad_clip"}},
      {"epochs", {"max_epochs", "num_epochs"}},
      {"feedforward", {"dim_feedforward", "mlp_dim"}},
      {"heads", {"n_heads", "num_heads"}},
      {"layers", {"depth", "n_layers", "num_layers"}},
      {"lr", {"learning_rate"}},
      {"steps", {"max_steps", "num_steps"}},
      {"warmup", {"warmup_steps"}},
      {"weight_decay", {"wd"}},
      {"width", {"d_model", "dim", "embed_dim", "hidden_size"}}};
  const auto known = [&](const auto& entry) { return contains(entry.second, key); };
  const auto found = std::ranges::find_if(words, known);
  return found == words.end() ? key : found->first;
}

static std::string did_you_mean(const std::string& what) {
  return "; did you mean " + what + "?";
}

static std::string choose_from(const std::vector<std::string>& names) {
  return names.empty() ? "" : "; there are " + joined(names);
}

// The name closest to the word, or a name that is a prefix of it or has it as a prefix; empty if
// there is none.
static std::string meant(std::string word, const std::vector<std::string>& names) {
  // Names are shorter than this, and computing the distance takes quadratic time.
  word.resize(std::min<std::size_t>(word.size(), 64));
  const std::string near = nearest(word, names);
  if (!near.empty()) return near;
  const auto related = std::ranges::find_if(names, [&](const std::string& name) {
    return std::min(word.size(), name.size()) >= 3 &&
           (word.starts_with(name) || name.starts_with(word));
  });
  return related == names.end() ? "" : *related;
}

std::string suggest_key(const std::string& section, const std::string& key,
                        const std::vector<OptionSpec>& task_keys) {
  const std::string word = translated(key);
  std::vector<std::string> names, elsewhere;
  for (const ConfigKey& row : config_keys()) {
    if (row.section == section) names.push_back(row.spec.name);
    if (row.section != section && row.spec.name == word) elsewhere.push_back(row.name());
  }
  if (section == "task") {
    for (const OptionSpec& spec : task_keys) names.push_back(spec.name);
  }
  if (!contains(names, word) && elsewhere.size() == 1) return did_you_mean(elsewhere[0]);
  if (names.empty()) return suggest_section(section);
  const std::string near = meant(word, names);
  return near.empty() ? choose_from(names) : did_you_mean(section + "." + near);
}

std::string suggest_anywhere(const std::string& key) {
  std::vector<std::string> names;
  for (const ConfigKey& row : config_keys()) names.push_back(row.spec.name);
  const auto named = [](const ConfigKey& row) { return row.spec.name; };
  const auto row = std::ranges::find(config_keys(), meant(translated(key), names), named);
  return row == config_keys().end() ? "" : did_you_mean(row->name());
}

std::string suggest_section(const std::string& section) {
  const std::string near = meant(section, config_sections());
  return near.empty() ? choose_from(config_sections()) : did_you_mean("[" + near + "]");
}

std::string suggest(const std::string& name) {
  const std::size_t dot = name.find('.');
  if (dot != name.npos) return suggest_key(name.substr(0, dot), name.substr(dot + 1), {});
  const std::string key = suggest_anywhere(name);
  return key.empty() ? suggest_section(name) : key;
}

}  // namespace xgrad::detail

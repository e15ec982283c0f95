#include <xgrad/train/config/keys.hpp>

#include <algorithm>
#include <map>
#include <sstream>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/nearest.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/train/config/section_keys.hpp>

namespace xgrad::detail {

// Hooks may be several, or none.
static std::vector<std::string> parts_in(std::string_view section, const std::string& chosen) {
  return section == "log" ? hooks_in(chosen) : std::vector{chosen};
}

bool ConfigKey::read_by(const std::string& chosen) const {
  const auto uses = [&](const std::string& part) { return contains(users, part); };
  return users.empty() || std::ranges::any_of(parts_in(section, chosen), uses);
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
  const auto known = [&](const std::string& part) { return contains(choices, part); };
  return std::ranges::all_of(parts_in(section, chosen), known);
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
    check<ConfigError>(row(option.name) == keys.end() &&
                           std::ranges::count(part.options, option.name, &OptionSpec::name) == 1,
                       section, ".", option.name, ": exists already, so ", part.name,
                       " cannot have it");
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
  for (const OptionSpec& option : part.options)
    added.push_back(own_key(section, part, option, own));
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

// Suggestions for names that are unknown.
namespace {

// Translates key names of other libraries.
const std::string& translated(const std::string& key) {
  static const std::map<std::string, std::string, std::less<>> words = {
      {"batch_size", "batch"},
      {"betas", "beta1"},
      {"clip_norm", "clip"},
      {"d_model", "width"},
      {"depth", "layers"},
      {"dim", "width"},
      {"dim_feedforward", "feedforward"},
      {"embed_dim", "width"},
      {"grad_clip", "clip"},
      {"hidden_size", "width"},
      {"learning_rate", "lr"},
      {"max_epochs", "epochs"},
      {"max_steps", "steps"},
      {"mlp_dim", "feedforward"},
      {"n_heads", "heads"},
      {"n_layers", "layers"},
      {"num_epochs", "epochs"},
      {"num_heads", "heads"},
      {"num_layers", "layers"},
      {"num_steps", "steps"},
      {"warmup_steps", "warmup"},
      {"wd", "weight_decay"}};
  const auto found = words.find(key);
  return found == words.end() ? key : found->second;
}

std::string did_you_mean(const std::string& what) {
  return "; did you mean " + what + "?";
}

std::string choose_from(const std::vector<std::string>& names) {
  return names.empty() ? "" : "; there are " + joined(names);
}

// The name closest to the word, or one that is a prefix of the word or has it as a prefix; empty if
// there is none.
std::string meant(std::string word, const std::vector<std::string>& names) {
  // No name is longer, and the distance takes quadratic time.
  word.resize(std::min<std::size_t>(word.size(), 64));
  const std::string near = nearest(word, names);
  if (!near.empty()) return near;
  for (const std::string& name : names) {
    const bool related = word.starts_with(name) || name.starts_with(word);
    if (related && std::min(word.size(), name.size()) >= 3) return name;
  }
  return "";
}

}  // namespace

std::string suggest_key(const std::string& section, const std::string& key,
                        const std::vector<OptionSpec>& task_keys) {
  const std::string& word = translated(key);
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
  const std::string near = meant(translated(key), names);
  for (const ConfigKey& row : config_keys()) {
    if (row.spec.name == near) return did_you_mean(row.name());
  }
  return "";
}

std::string suggest_section(const std::string& section) {
  const std::string near = meant(section, config_sections());
  return near.empty() ? choose_from(config_sections()) : did_you_mean("[" + near + "]");
}

}  // namespace xgrad::detail

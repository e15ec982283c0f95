#include <xgrad/train/config/config.hpp>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/nearest.hpp>
#include <xgrad/data/options.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/config/keys.hpp>
#include <xgrad/train/config/toml.hpp>

// A config is read in three steps. parse_document() returns the assignments of a text. Resolved
// holds the assignments that count. Validator sets the values of their keys.
namespace xgrad {

namespace {

namespace fs = std::filesystem;

using detail::Assignment;
using detail::ConfigKey;
using detail::Document;
using detail::Place;
using detail::Problem;
using Problems = std::vector<Problem>;

constexpr std::size_t kMostProblems = 100;  // problems listed in a message
constexpr std::size_t kMostQuoted = 200;    // bytes of an override or a key in a message

// The assignments that count, after overrides.
struct Resolved {
  std::string origin;
  ConfigWriter writer;
  std::map<std::string, Place> sections = {};
  std::map<std::string, Assignment> assignments = {};  // by "section.key"
  const TaskEntry* task = nullptr;
};

bool is_overridden(const Assignment& a) {
  return a.key_place.override.has_value();
}

const Assignment* find(const Resolved& given, const std::string& name) {
  const auto found = given.assignments.find(name);
  return found == given.assignments.end() ? nullptr : &found->second;
}

// The text that was assigned; null for another type.
const std::string* text_of(const Assignment& a) {
  const auto* value = std::get_if<OptionValue>(&a.value);
  return value ? std::get_if<std::string>(value) : nullptr;
}

// The value of a section's `name` or `kind`.
std::string chosen(const Resolved& given, const std::string& section) {
  const char* key = detail::choosing_key(section);
  const Assignment* a = find(given, section + "." + key);
  if (const std::string* name = a ? text_of(*a) : nullptr) return *name;
  return std::get<std::string>(*detail::find_config_key(section, key)->get(Config()));
}

// Whether a run's own config uses a part that another program added.
bool has_part_of_another(const Resolved& given, const Assignment& a) {
  return given.writer == ConfigWriter::xgrad && !is_overridden(a) && a.section != "task" &&
         detail::find_config_key(a.section, detail::choosing_key(a.section)) &&
         !detail::is_known(a.section, chosen(given, a.section));
}

std::string unknown_here(const std::string& what) {
  return "there is no " + what + " in this program; use the program that added it";
}

// The last assignment of a key counts.
void collect(Document document, Resolved& given, Problems& problems) {
  const std::vector<std::string>& sections = detail::config_sections();
  std::set<std::string> unknown;
  const auto is_section = [&](const std::string& name, const Place& place) {
    const bool known = detail::contains(sections, name);
    if (!known && unknown.insert(name).second) {
      problems.push_back({place, name, "unknown section" + detail::suggest_section(name)});
    }
    return known;
  };
  given.sections = std::move(document.sections);
  for (const auto& [name, place] : given.sections) is_section(name, place);
  for (Assignment& a : document.assignments) {
    if (!a.section.empty()) {
      if (is_section(a.section, a.key_place)) given.assignments[a.name()] = std::move(a);
      continue;
    }
    problems.push_back({a.key_place, a.key,
                        detail::contains(sections, a.key)
                            ? "is a section, written [" + a.key + "]"
                            : "is outside of every section" + detail::suggest_anywhere(a.key)});
  }
}

// "train.steps=10" on a command line wins, even if the file sets train.epochs.
void let_overrides_choose_the_length(Resolved& given) {
  const Assignment *steps = find(given, "train.steps"), *epochs = find(given, "train.epochs");
  if (steps && epochs && is_overridden(*steps) != is_overridden(*epochs)) {
    given.assignments.erase(is_overridden(*steps) ? "train.epochs" : "train.steps");
  }
}

void find_the_task(Resolved& given, Problems& problems) {
  std::vector<std::string> names;
  for (const TaskEntry& entry : tasks()) names.push_back(entry.name);
  const Assignment* a = find(given, "task.name");
  const auto refuse = [&](const Place& place, const std::string& text) {
    problems.push_back({place, "task.name", text});
  };
  if (a == nullptr) return refuse(given.sections["task"], "is missing; there are " + joined(names));
  const std::string* name = text_of(*a);
  if (name == nullptr || name->find('\0') != name->npos) return;  // Validator reports it
  const auto entry = std::ranges::find(tasks(), *name, &TaskEntry::name);
  if (entry != tasks().end()) {
    given.task = &*entry;
  } else if (given.writer == ConfigWriter::xgrad && !is_overridden(*a)) {
    refuse(a->value_place, unknown_here("task " + excerpt(*name)));
  } else {
    refuse(a->value_place, "there is no task " + excerpt(*name) + "; there are " +
                               joined(nearest_first(*name, names)));
  }
}

// "optim.name=sgd" on a command line wins, even if the file sets keys of another optimizer.
void leave_out_keys_of_others(Resolved& given, Problems& problems) {
  std::erase_if(given.assignments, [&](const auto& entry) {
    const Assignment& a = entry.second;
    const ConfigKey* key = detail::find_config_key(a.section, a.key);
    if (key == nullptr || key->users.empty()) return false;
    const std::string name = chosen(given, a.section);
    // An unknown name is reported elsewhere.
    if (key->read_by(name) || !detail::is_known(a.section, name)) return false;
    const std::string chooser = a.section + "." + detail::choosing_key(a.section);
    const Assignment* choice = find(given, chooser);
    if (choice == nullptr || !is_overridden(*choice) || is_overridden(a)) {
      problems.push_back(
          {a.key_place, entry.first,
           "is not a key of " + chooser + " = \"" + name + "\", but of " + joined(key->users)});
    }
    return true;
  });
}

// Sets the keys of a config to the assigned values, and collects the problems.
class Validator {
 public:
  Validator(const Resolved& given, Problems& problems) : given_(given), problems_(problems) {}

  Config config() {
    if (given_.task) config_.task_options = defaults(given_.task->options);
    // A preset sets defaults, so it comes before the keys that the config sets.
    if (const Assignment* preset = find(given_, "model.preset")) {
      if (given_.writer == ConfigWriter::xgrad) {
        complain(preset->key_place, "model.preset",
                 "has no effect on a run's own config, which has every key; change the keys "
                 "themselves");
      }
      set(*preset);
    }
    bool changed = false;  // whether an override changes the result
    for (const auto& [name, assignment] : given_.assignments) {
      if (name != "model.preset") set(assignment);
      const ConfigKey* key = detail::find_config_key(assignment.section, assignment.key);
      const bool of_result = key == nullptr || key->determines_result();
      changed = changed || (is_overridden(assignment) && of_result);
    }
    const Assignment* hash = find(given_, "expect.sha256");
    if (hash != nullptr && !is_overridden(*hash) && changed) config_.expect.sha256.reset();
    detail::check_rules(config_, [&](auto&... broken) { report(broken...); });
    // A run can be read without its hooks.
    const std::string hooks = detail::problem_of_hooks(config_.log_hooks);
    if (given_.writer == ConfigWriter::user && !hooks.empty()) report({"log.hooks"}, hooks);
    return config_;
  }

 private:
  void complain(const Place& place, const std::string& key, const std::string& text) {
    problems_.push_back({place, key, text});
  }

  void set(const Assignment& a) {
    if (a.section == "optim" && a.key == "groups") return set_groups(a);
    const ConfigKey* key = detail::find_config_key(a.section, a.key);
    if (has_part_of_another(given_, a)) {
      if (a.key == detail::choosing_key(a.section) && a.section != "log") {
        return complain(a.value_place, a.name(), unknown_here(excerpt(chosen(given_, a.section))));
      }
      if (key == nullptr) return;  // a key of a part that another program added
    }
    if (key != nullptr) {
      if (const auto value = checked(a, key->spec)) key->set(config_, *value);
      return;
    }
    if (a.section == "task" && given_.task == nullptr) return;  // reported elsewhere
    const auto& options = given_.task ? given_.task->options : std::vector<OptionSpec>();
    const auto spec = std::ranges::find(options, a.key, &OptionSpec::name);
    if (a.section == "task" && spec != options.end()) {
      if (const auto value = checked(a, *spec)) config_.task_options[a.key] = *value;
      return;
    }
    const bool shown = problems_.size() < kMostProblems;
    complain(a.key_place, a.name(),
             "unknown key" + (shown ? detail::suggest_key(a.section, a.key, options) : ""));
  }

  void set_groups(const Assignment& a) {
    const auto* found = std::get_if<detail::Tables>(&a.value);
    if (found == nullptr) {
      return complain(a.value_place, "optim.groups",
                      "must be an array of tables, as [{match = \"embedding.*\", lr_scale = 0.1}]");
    }
    for (const auto& table : found->tables) {
      const std::string name = "optim.groups[" + std::to_string(config_.optim.groups.size()) + "]";
      ParameterGroup& group = config_.optim.groups.emplace_back();
      for (Assignment entry : table) {
        entry.section = name;
        set_group_key(group, entry);
      }
      const bool missing = group.match.empty() && !wrong_.contains(name + ".match");
      if (missing) complain(a.key_place, name + ".match", "is missing");
    }
  }

  void set_group_key(ParameterGroup& group, const Assignment& a) {
    const auto& keys = detail::group_keys();
    const auto key = std::ranges::find(keys, a.key, [](auto& k) { return k.spec.name; });
    if (key != keys.end()) {
      if (const auto value = checked(a, key->spec)) key->set(group, *value);
      return;
    }
    std::vector<std::string> names;
    for (const detail::GroupKey& known : keys) names.push_back(known.spec.name);
    complain(a.key_place, a.name(),
             a.key == "lr" ? "unknown key; the factor of optim.lr is lr_scale"
                           : "unknown key; there are " + joined(names));
  }

  // The value, if it is valid. A relative path starts at the config's folder or, in overrides, at
  // the current directory.
  std::optional<OptionValue> checked(const Assignment& a, const OptionSpec& spec) {
    std::string wrong;
    const auto* array = std::get_if<detail::Tables>(&a.value);
    const bool empty = array && array->tables.empty();
    const OptionValue no_numbers = Numbers();  // in TOML, as no tables
    const bool is_list = std::holds_alternative<Numbers>(spec.fallback);
    const OptionValue* const given = std::get_if<OptionValue>(&a.value);
    if (const auto* value = empty && is_list ? &no_numbers : given) {
      wrong = problem(spec, *value);
      const auto* integer = std::get_if<std::int64_t>(value);
      if (!wrong.empty()) {
      } else if (integer && std::holds_alternative<double>(spec.fallback)) {
        return double(*integer);
      } else if (spec.file && std::get<std::string>(*value) != "") {
        const fs::path folder = is_overridden(a) ? "" : fs::path(given_.origin).parent_path();
        return fs::absolute(folder / std::get<std::string>(*value)).lexically_normal().string();
      } else {
        return *value;
      }
    } else {
      wrong = array == nullptr ? "is " + std::get<detail::Unusable>(a.value).what
              : empty          ? "is an array"
                               : "is an array of tables";
      wrong += std::string(", must be ") + type_name(spec.fallback);
    }
    complain(a.value_place, a.name(), wrong);
    wrong_.insert(a.name());
    return std::nullopt;
  }

  // Reports a broken rule at the first of its keys that the config sets, unless one of its keys has
  // an invalid value anyway.
  void report(const std::vector<std::string>& keys, const std::string& text) {
    if (std::ranges::any_of(keys, [&](auto& key) { return wrong_.contains(key); })) return;
    const auto section = given_.sections.find(keys[0].substr(0, keys[0].find('.')));
    Place place = section == given_.sections.end() ? Place() : section->second;
    const auto given = std::ranges::find_if(keys, [&](auto& key) { return find(given_, key); });
    if (given != keys.end()) place = find(given_, *given)->value_place;
    complain(place, keys[0], text);
  }

  const Resolved& given_;
  Problems& problems_;
  std::set<std::string> wrong_;  // keys with an invalid value
  Config config_;
};

void check_none(Problems problems, const std::string& origin) {
  if (problems.empty()) return;
  std::ranges::stable_sort(problems, {}, [](const Problem& p) { return p.place.order(); });
  std::vector<std::string> lines;
  for (const auto& [place, key, text] : problems) {
    if (lines.size() == kMostProblems) {
      lines.push_back("and " + std::to_string(problems.size() - kMostProblems) + " more");
      break;
    }
    const std::string line = std::to_string(place.line), column = std::to_string(place.column);
    const auto cut = [](const std::string& quoted) { return clipped(quoted, kMostQuoted); };
    lines.push_back(place.override ? "override '" + escaped(cut(*place.override)) + "': "
                                   : origin + ":" + line + ":" + column + ": ");
    lines.back() += escaped(cut(key) + (key.empty() ? "" : ": ") + text);
  }
  throw ConfigError(joined(lines, "\n"));
}

}  // namespace

Config parse_config(const std::string& text, const std::string& origin,
                    const std::vector<std::string>& overrides, ConfigWriter writer) {
  Document document = detail::parse_document(text);
  check_none(document.problems, origin);  // after a syntax error other problems would mislead
  for (std::size_t i = 0; i < overrides.size(); ++i) {
    detail::parse_override(overrides[i], unsigned(i), document);
  }
  Problems problems = std::move(document.problems);
  Resolved given{origin, writer};
  collect(std::move(document), given, problems);
  let_overrides_choose_the_length(given);
  find_the_task(given, problems);
  leave_out_keys_of_others(given, problems);
  Config config = Validator(given, problems).config();
  check_none(std::move(problems), origin);
  return config;
}

Config load_config(const std::string& path, const std::vector<std::string>& overrides,
                   ConfigWriter writer) try {
  return parse_config(read_file(path, detail::kMostConfigBytes), path, overrides, writer);
} catch (const IoError& error) {
  // xgrad wrote this file, so the error is not in a config of the user.
  if (writer == ConfigWriter::xgrad) throw;
  throw ConfigError(error.what());
}

}  // namespace xgrad

#include <xgrad/train/config/config.hpp>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <tuple>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/nearest.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/data/option_text.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/train/config/groups.hpp>
#include <xgrad/train/config/keys.hpp>
#include <xgrad/train/config/rules.hpp>
#include <xgrad/train/config/suggest.hpp>
#include <xgrad/train/config/toml.hpp>

namespace xgrad {

namespace {

namespace fs = std::filesystem;

using detail::Assignment;
using detail::Document;
using detail::Place;
using detail::Problem;
using detail::Unusable;

constexpr std::size_t kMostProblems = 100;  // problems listed in a message
constexpr std::size_t kMostQuoted = 200;    // bytes of an override or a key in a message

// Keys of [task] that configs of earlier versions lack, with the value that those versions used.
struct YoungKey {
  const char* task;
  const char* name;
  double before;
};
constexpr YoungKey kYoungKeys[] = {{"files", "unknown", 0}};

// Turns a document into a Config and collects all problems on the way.
class Reader {
 public:
  Reader(std::string origin, ConfigWriter writer) : origin_(std::move(origin)), writer_(writer) {}

  Config read(const std::string& text, const std::vector<std::string>& overrides) {
    Document document = detail::parse_document(text);
    if (!document.problems.empty())
      fail(document.problems);  // after a syntax error other problems would mislead
    for (std::size_t i = 0; i < overrides.size(); ++i) {
      detail::parse_override(overrides[i], unsigned(i), document);
    }
    problems_ = std::move(document.problems);
    sections_ = std::move(document.sections);
    for (const auto& [name, place] : sections_) check_section(name, place);
    for (Assignment& a : document.assignments) accept(std::move(a));
    let_overrides_choose_the_length();

    find_the_task();
    leave_out_keys_of_others();
    apply_preset();
    for (const auto& [name, assignment] : assignments_) set(assignment);
    for (const detail::RuleBroken& broken : detail::broken_rules(config_)) report(broken);
    if (writer_ == ConfigWriter::user) {
      for (const detail::RuleBroken& broken : detail::broken_rules_of_new_runs(config_)) {
        report(broken);
      }
    }
    if (!problems_.empty()) fail(problems_);
    return config_;
  }

 private:
  // The last assignment of a key counts.
  void accept(Assignment a) {
    const std::string name = a.section + "." + a.key;
    if (a.section.empty()) {
      problems_.push_back({a.key_place, a.key, outside(a.key)});
    } else if (check_section(a.section, a.key_place)) {
      assignments_[name] = std::move(a);
    }
  }

  static std::string outside(const std::string& key) {
    const auto& sections = detail::config_sections();
    if (std::find(sections.begin(), sections.end(), key) != sections.end()) {
      return "is a section, written [" + key + "]";
    }
    return "is outside of every section" + detail::suggest_anywhere(key);
  }

  bool check_section(const std::string& name, const Place& place) {
    const auto& sections = detail::config_sections();
    if (std::find(sections.begin(), sections.end(), name) != sections.end()) return true;
    if (unknown_sections_.insert(name).second) {
      problems_.push_back({place, name, "unknown section" + detail::suggest_section(name)});
    }
    return false;
  }

  // "train.steps=10" on a command line wins, even if the file sets train.epochs.
  void let_overrides_choose_the_length() {
    const auto overridden = [this](const char* name) {
      const auto found = assignments_.find(name);
      return found != assignments_.end() && found->second.key_place.override.has_value();
    };
    const bool steps = overridden("train.steps"), epochs = overridden("train.epochs");
    if (steps && !epochs) assignments_.erase("train.epochs");
    if (epochs && !steps) assignments_.erase("train.steps");
  }

  // The value of a section's `name` or `kind`, and whether an override gave it.
  std::pair<std::string, bool> chosen(const std::string& section) const {
    const auto found = assignments_.find(section + "." + detail::choosing_key(section));
    if (found != assignments_.end()) {
      const auto* value = std::get_if<OptionValue>(&found->second.value);
      const auto* name = value ? std::get_if<std::string>(value) : nullptr;
      if (name) return {*name, found->second.key_place.override.has_value()};
    }
    const auto* row = detail::find_config_key(section, detail::choosing_key(section));
    return {std::get<std::string>(*row->get(Config())), false};
  }

  // Whether a run's own config has a part there that another program added.
  bool has_part_of_another(const Assignment& a) const {
    return writer_ == ConfigWriter::xgrad && !a.key_place.override && has_parts(a.section) &&
           !detail::is_known(a.section, chosen(a.section).first);
  }

  static bool has_parts(const std::string& section) {
    return section != "task" && detail::find_config_key(section, detail::choosing_key(section));
  }

  static std::string unknown_here(const std::string& what) {
    return "there is no " + what + " in this program; use the program that added it";
  }

  // Drops keys that the chosen optimizer or schedule does not use. "optim.name=sgd" on a command
  // line wins, even if the file sets keys of another optimizer.
  void leave_out_keys_of_others() {
    for (auto at = assignments_.begin(); at != assignments_.end();) {
      const Assignment& a = at->second;
      const detail::ConfigKey* row = detail::find_config_key(a.section, a.key);
      if (row == nullptr || row->users.empty()) {
        ++at;
        continue;
      }
      const auto [name, overridden] = chosen(a.section);
      // An unknown name is reported by itself.
      if (row->read_by(name) || !detail::is_known(a.section, name)) {
        ++at;
        continue;
      }
      const auto* value = std::get_if<OptionValue>(&a.value);
      const bool stored = writer_ == ConfigWriter::xgrad && value && *value == row->get(Config());
      if (!stored && (!overridden || a.key_place.override)) {
        problems_.push_back({a.key_place, at->first,
                             "is not a key of " + a.section + "." +
                                 detail::choosing_key(a.section) + " = \"" + name + "\", but of " +
                                 joined(row->users)});
      }
      at = assignments_.erase(at);
    }
  }

  // A preset sets defaults, so it comes before the keys that the config sets.
  void apply_preset() {
    const auto given = assignments_.find("model.preset");
    if (given == assignments_.end()) return;
    if (writer_ == ConfigWriter::xgrad) {
      problems_.push_back({given->second.key_place, "model.preset",
                           "has no effect on a run's own config, which has every key; change "
                           "the keys themselves"});
    }
    set(given->second);
    assignments_.erase(given);
  }

  void find_the_task() {
    const auto given = assignments_.find("task.name");
    std::vector<std::string> names;
    for (const TaskEntry& entry : tasks()) names.push_back(entry.name);
    if (given == assignments_.end()) {
      const auto section = sections_.find("task");
      problems_.push_back({section == sections_.end() ? Place{} : section->second, "task.name",
                           "is missing; there are " + joined(names)});
      return;
    }
    const auto* value = std::get_if<OptionValue>(&given->second.value);
    const auto* name = value ? std::get_if<std::string>(value) : nullptr;
    if (name == nullptr || name->find('\0') != name->npos) return;  // set() reports it
    for (const TaskEntry& entry : tasks()) {
      if (entry.name == *name) task_ = &entry;
    }
    if (task_ != nullptr) {
      config_.task_options = defaults(task_->options);
      if (writer_ == ConfigWriter::xgrad) {
        for (const YoungKey& key : kYoungKeys) {
          if (task_->name == key.task) config_.task_options[key.name] = key.before;
        }
      }
    } else {
      const bool stored = writer_ == ConfigWriter::xgrad && !given->second.key_place.override;
      problems_.push_back({given->second.value_place, "task.name",
                           stored ? unknown_here("task " + excerpt(*name))
                                  : "there is no task " + excerpt(*name) + "; there are " +
                                        joined(nearest_first(*name, names))});
    }
  }

  void set_groups(const Assignment& a) {
    const auto* found = std::get_if<detail::Tables>(&a.value);
    if (found == nullptr) {
      problems_.push_back({a.value_place, "optim.groups",
                           "must be an array of tables, as [{match = \"embedding.*\", lr = 0.1}]"});
      return;
    }
    for (const auto& table : found->tables) {
      const std::string name = "optim.groups[" + std::to_string(config_.optim.groups.size()) + "]";
      ParameterGroup& group = config_.optim.groups.emplace_back();
      for (Assignment entry : table) {
        entry.section = name;
        set_group_key(group, entry);
      }
      if (group.match.empty() && !wrong_.contains(name + ".match"))
        problems_.push_back({a.key_place, name + ".match", "is missing"});
    }
  }

  void set_group_key(ParameterGroup& group, const Assignment& a) {
    std::vector<std::string> names;
    for (const detail::GroupKey& key : detail::group_keys()) {
      names.push_back(key.spec.name);
      if (key.spec.name != a.key) continue;
      if (auto value = checked(a, key.spec)) key.set(group, *value);
      return;
    }
    problems_.push_back(
        {a.key_place, a.section + "." + a.key, "unknown key; there are " + joined(names)});
  }

  void set(const Assignment& a) {
    if (a.section == "optim" && a.key == "groups") return set_groups(a);
    if (has_part_of_another(a)) {
      const bool chooses = a.key == detail::choosing_key(a.section);
      if (chooses && a.section != "log") {  // a run can be read without its hooks
        problems_.push_back({a.value_place, a.section + "." + a.key,
                             unknown_here(excerpt(chosen(a.section).first))});
        return;
      }
      if (detail::find_config_key(a.section, a.key) == nullptr) return;  // a key of that part
    }
    if (const detail::ConfigKey* row = detail::find_config_key(a.section, a.key)) {
      if (auto value = checked(a, row->spec)) {
        if (row->spec.file) value = in_folder(a, std::get<std::string>(*value));
        row->set(config_, *value);
      }
      return;
    }
    if (a.section == "task") {
      if (task_ == nullptr) return;  // the unknown task is reported itself
      for (const OptionSpec& spec : task_->options) {
        if (spec.name != a.key) continue;
        if (auto value = checked(a, spec)) {
          if (spec.file) value = in_folder(a, std::get<std::string>(*value));
          config_.task_options[a.key] = *value;
        }
        return;
      }
    }
    std::string text = "unknown key";
    if (problems_.size() < kMostProblems) {
      text +=
          detail::suggest_key(a.section, a.key, task_ ? task_->options : std::vector<OptionSpec>());
    }
    problems_.push_back({a.key_place, a.section + "." + a.key, text});
  }

  // A relative path is relative to the config's folder or, on the command line, to the working
  // directory.
  std::string in_folder(const Assignment& a, const std::string& name) const {
    if (name.empty()) return name;
    const bool overridden = a.key_place.override.has_value();
    const fs::path folder = overridden ? fs::path() : fs::path(origin_).parent_path();
    return fs::absolute(folder / name).lexically_normal().string();
  }

  static bool is_empty_list(const detail::ParsedValue& value) {
    const auto* array = std::get_if<detail::Tables>(&value);
    return array != nullptr && array->tables.empty();
  }

  std::optional<OptionValue> checked(const Assignment& a, const OptionSpec& spec) {
    const std::string name = a.section + "." + a.key;
    std::string wrong;
    if (const auto* unusable = std::get_if<Unusable>(&a.value)) {
      wrong = "is " + unusable->what + ", must be " + type_name(spec.fallback);
    } else if (is_empty_list(a.value) && std::holds_alternative<Numbers>(spec.fallback)) {
      return Numbers();
    } else if (const auto* array = std::get_if<detail::Tables>(&a.value)) {
      wrong = array->tables.empty() ? "is an array" : "is an array of tables";
      wrong += std::string(", must be ") + type_name(spec.fallback);
    } else {
      OptionValue value = std::get<OptionValue>(a.value);
      wrong = problem(spec, value);
      const auto* integer = std::get_if<std::int64_t>(&value);
      if (integer && std::holds_alternative<double>(spec.fallback)) value = double(*integer);
      if (wrong.empty()) return value;
    }
    problems_.push_back({a.value_place, name, wrong});
    wrong_.insert(name);
    return std::nullopt;
  }

  // Reports the rule at its first key that is given; not at all if one of its keys is invalid
  // itself.
  void report(const detail::RuleBroken& broken) {
    const auto is_wrong = [this](const std::string& key) { return wrong_.contains(key); };
    if (std::any_of(broken.keys.begin(), broken.keys.end(), is_wrong)) return;
    Place place;
    const std::string section = broken.keys[0].substr(0, broken.keys[0].find('.'));
    if (const auto found = sections_.find(section); found != sections_.end()) place = found->second;
    for (const std::string& key : broken.keys) {
      const auto found = assignments_.find(key);
      if (found == assignments_.end()) continue;
      place = found->second.value_place;
      break;
    }
    problems_.push_back({place, broken.keys[0], broken.text});
  }

  [[noreturn]] void fail(std::vector<Problem>& problems) const {
    std::stable_sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
      return std::tuple(a.place.override.has_value(), a.place.line, a.place.column) <
             std::tuple(b.place.override.has_value(), b.place.line, b.place.column);
    });
    std::string text;
    for (const Problem& p : problems) {
      if (&p == &problems[0] + kMostProblems) {
        text += "\nand " + std::to_string(problems.size() - kMostProblems) + " more";
        break;
      }
      if (!text.empty()) text += '\n';
      text +=
          p.place.override
              ? "override '" + escaped(clipped(*p.place.override, kMostQuoted)) + "'"
              : origin_ + ":" + std::to_string(p.place.line) + ":" + std::to_string(p.place.column);
      text += ": " + escaped(clipped(p.key, kMostQuoted) + (p.key.empty() ? "" : ": ") + p.text);
    }
    throw ConfigError(text);
  }

  std::string origin_;
  ConfigWriter writer_;
  std::vector<Problem> problems_;
  std::map<std::string, Place> sections_;
  std::set<std::string> unknown_sections_;
  std::map<std::string, Assignment> assignments_;  // by "section.key"
  std::set<std::string> wrong_;                    // keys with an invalid value
  const TaskEntry* task_ = nullptr;
  Config config_;
};

}  // namespace

Config parse_config(const std::string& text, const std::string& origin,
                    const std::vector<std::string>& overrides, ConfigWriter writer) {
  return Reader(origin, writer).read(text, overrides);
}

Config load_config(const std::string& path, const std::vector<std::string>& overrides,
                   ConfigWriter writer) {
  const auto text = [&] {
    try {
      return read_file(path, detail::kMostConfigBytes);
    } catch (const IoError& error) {
      // A run's own file, so it is not an error in the user's config.
      if (writer == ConfigWriter::xgrad) throw;
      throw ConfigError(error.what());
    }
  };
  return parse_config(text(), path, overrides, writer);
}

}  // namespace xgrad

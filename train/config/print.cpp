#include <algorithm>
#include <utility>

#include <xgrad/data/excerpt.hpp>
#include <xgrad/data/option_text.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/config/keys.hpp>

namespace xgrad {

namespace {

struct Line {
  std::string section, key;
  std::string literal;  // empty if not given
};

// Adds a task's options in the order of its table, followed by those that this program does not
// know, sorted by name.
void add_task_options(const Config& config, std::vector<Line>& lines) {
  const auto entry = std::find_if(tasks().begin(), tasks().end(),
                                  [&](const TaskEntry& e) { return e.name == config.task; });
  Options rest = config.task_options;
  if (entry != tasks().end()) {
    for (const OptionSpec& spec : entry->options) {
      const auto found = rest.find(spec.name);
      if (found == rest.end()) continue;
      lines.push_back({"task", spec.name, to_literal(found->second)});
      rest.erase(found);
    }
  }
  for (const auto& [name, value] : rest) lines.push_back({"task", name, to_literal(value)});
}

// One line per group, without keys at their defaults.
std::string groups_literal(const std::vector<ParameterGroup>& groups) {
  if (groups.empty()) return "";
  std::string text = "[";
  for (const ParameterGroup& group : groups) {
    std::vector<std::string> settings;
    for (const detail::GroupKey& key : detail::group_keys()) {
      const auto value = key.get(group);
      if (value != key.get({})) settings.push_back(key.spec.name + " = " + to_literal(*value));
    }
    text += "\n  {" + joined(settings) + "},";
  }
  return text + "\n]";
}

std::vector<Line> lines_of(const Config& config, bool with_execution_keys) {
  std::vector<Line> lines;
  for (const detail::ConfigKey& key : detail::config_keys()) {
    if ((key.execution && !with_execution_keys) || !detail::is_read(key, config)) continue;
    if (key.name() == "schedule.name") {
      lines.push_back({"optim", "groups", groups_literal(config.optim.groups)});
    }
    const auto value = key.get(config);
    lines.push_back({key.section, key.spec.name, value ? to_literal(*value) : ""});
    if (key.name() == "task.name") add_task_options(config, lines);
  }
  return lines;
}

}  // namespace

std::string to_toml(const Config& config, bool with_execution_keys) {
  std::string text, section;
  for (const Line& line : lines_of(config, with_execution_keys)) {
    if (line.literal.empty()) continue;
    if (line.section != section) {
      text += (section.empty() ? "[" : "\n[") + line.section + "]\n";
      section = line.section;
    }
    text += line.key + " = " + line.literal + "\n";
  }
  return text;
}

std::string to_string(const ConfigDifference& difference) {
  return difference.key + ": " + difference.before + " -> " + difference.after;
}

std::vector<ConfigDifference> differences(const Config& a, const Config& b) {
  const std::vector<Line> before = lines_of(a, false), after = lines_of(b, false);
  const auto find = [](const std::vector<Line>& lines, const Line& like) {
    return std::find_if(lines.begin(), lines.end(), [&](const Line& line) {
      return line.section == like.section && line.key == like.key;
    });
  };
  const auto shown = [](std::string text) {
    std::erase(text, '\n');
    return text.empty() ? "nothing" : text;
  };
  std::vector<ConfigDifference> result;
  for (const Line& line : before) {
    const auto other = find(after, line);
    const std::string literal = other == after.end() ? "" : other->literal;
    if (literal == line.literal) continue;
    result.push_back({line.section + "." + line.key, shown(line.literal), shown(literal)});
  }
  for (const Line& line : after) {  // keys that only b's task or optimizer has
    if (line.literal.empty() || find(before, line) != before.end()) continue;
    result.push_back({line.section + "." + line.key, "nothing", shown(line.literal)});
  }
  return result;
}

}  // namespace xgrad

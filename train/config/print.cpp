// A config as TOML, and its keys as text, as words to complete and as a JSON Schema (draft 7).
#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/options.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/text/columns.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/config/keys.hpp>

namespace xgrad {

namespace {

using detail::ConfigKey;
using detail::GroupKey;
using Json = nlohmann::ordered_json;

struct Line {
  std::string section, key;
  std::string literal;  // empty if not given
};

// Adds a task's options in the order of its table, then options that this program does not know.
void add_task_options(const Config& config, std::vector<Line>& lines) {
  const auto entry = std::ranges::find(tasks(), config.task, &TaskEntry::name);
  Options rest = config.task_options;
  const auto add = [&](const Options::node_type& option) {
    if (option) lines.push_back({"task", option.key(), to_literal(option.mapped())});
  };
  if (entry != tasks().end()) {
    for (const OptionSpec& spec : entry->options) add(rest.extract(spec.name));
  }
  while (!rest.empty()) add(rest.extract(rest.begin()));
}

// One line per group, without keys at their defaults.
std::string groups_literal(const std::vector<ParameterGroup>& groups) {
  std::string text;
  for (const ParameterGroup& group : groups) {
    std::vector<std::string> settings;
    for (const GroupKey& key : detail::group_keys()) {
      const auto value = key.get(group);
      if (value != key.get({})) settings.push_back(key.spec.name + " = " + to_literal(*value));
    }
    text += "\n  {" + joined(settings) + "},";
  }
  return text.empty() ? "" : "[" + text + "\n]";
}

std::vector<Line> lines_of(const Config& config, bool with_execution_keys) {
  std::vector<Line> lines;
  for (const ConfigKey& key : detail::config_keys()) {
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

using Row = std::vector<std::string>;  // name, default, values, help

// Rows in columns, under a heading.
struct Table {
  std::string section, heading;
  std::vector<Row> rows = {};

  void add(const OptionSpec& spec, bool has_default) {
    rows.push_back({spec.name, has_default ? to_literal(spec.fallback) : "-", allowed_values(spec),
                    spec.help});
  }
};

// Tasks with the same keys share a table.
void add_tasks(std::vector<Table>& tables) {
  for (const TaskEntry& entry : tasks()) {
    Table own{"task", "[task] with name = \"" + entry.name + "\""};
    for (const OptionSpec& spec : entry.options) own.add(spec, true);
    const auto same = std::ranges::find(tables, own.rows, &Table::rows);
    if (same == tables.end()) {
      tables.push_back(std::move(own));
    } else {
      same->heading += ", \"" + entry.name + "\"";
    }
  }
}

std::vector<Table> all_tables() {
  std::vector<Table> tables;
  for (const std::string& section : detail::config_sections()) {
    Table& table = tables.emplace_back(Table{section, "[" + section + "]"});
    for (const ConfigKey& key : detail::config_keys()) {
      if (key.section != section) continue;
      table.add(key.spec, key.get(Config()).has_value() && key.name() != "task.name");
    }
    if (section == "task") add_tasks(tables);
    if (section != "optim") continue;
    constexpr const char* kGroups =
        "[[optim.groups]], settings for some parameters; the first group that matches counts";
    Table& groups = tables.emplace_back(Table{section, kGroups});
    for (const GroupKey& key : detail::group_keys()) {
      groups.add(key.spec, key.get({}) && key.spec.name != "match");
    }
  }
  return tables;
}

// Adds minimum and maximum. A bound from above() or below() becomes the number that it excludes.
void add_bounds(Json& schema, const OptionSpec& spec, bool integer) {
  for (const auto& [inclusive, exclusive, bound, outwards] :
       {std::tuple("minimum", "exclusiveMinimum", spec.min, -HUGE_VAL),
        std::tuple("maximum", "exclusiveMaximum", spec.max, HUGE_VAL)}) {
    if (std::isinf(bound)) continue;
    const double next = std::nextafter(bound, outwards);
    const bool open = std::round(bound) != bound && std::round(next) == next;
    const double number = open ? next : bound;
    schema[open ? exclusive : inclusive] = integer ? Json(std::int64_t(number)) : Json(number);
  }
}

// The schema of one value.
Json schema_of(const OptionSpec& spec, bool has_default) {
  constexpr const char* kTypes[] = {"boolean", "integer", "number", "string"};
  Json schema{{"description", spec.help}};
  if (std::holds_alternative<Numbers>(spec.fallback)) {
    Json number{{"type", "number"}};
    add_bounds(number, spec, /*integer=*/false);
    Json list{{"type", "array"}, {"items", std::move(number)}};
    const std::size_t count = std::get<Numbers>(spec.fallback).size();
    if (count > 0) list["minItems"] = list["maxItems"] = count;
    if (spec.choices.empty()) {
      schema.update(list);
    } else {
      schema["anyOf"] = Json::array({std::move(list), {{"enum", spec.choices}}});
    }
  } else {
    schema["type"] = kTypes[spec.fallback.index()];
    if (!spec.choices.empty()) schema["enum"] = spec.choices;
    add_bounds(schema, spec, std::holds_alternative<std::int64_t>(spec.fallback));
  }
  if (has_default) {
    schema["default"] = std::visit([](const auto& held) { return Json(held); }, spec.fallback);
  }
  return schema;
}

Json closed_object(Json properties) {
  return {
      {"type", "object"}, {"additionalProperties", false}, {"properties", std::move(properties)}};
}

// If only some parts read a key, a config that sets it must choose one of these parts.
Json needs_user(const ConfigKey& key) {
  const char* chooser = detail::choosing_key(key.section);
  Json user{{"enum", key.users}};
  if (key.section == "log") user = {{"pattern", "(^|,) *" + key.users[0] + " *(,|$)"}};
  Json then{{"properties", {{chooser, user}}}};
  const auto fallback = detail::find_config_key(key.section, chooser)->get(Config());
  if (!key.read_by(std::get<std::string>(*fallback))) then["required"] = {chooser};
  return {{"if", {{"required", {key.spec.name}}}}, {"then", std::move(then)}};
}

Json section_schema(const std::string& section) {
  Json properties = Json::object(), rules = Json::array();
  for (const ConfigKey& key : detail::config_keys()) {
    if (key.section != section) continue;
    properties[key.spec.name] = schema_of(key.spec, key.get(Config()).has_value());
    if (key.users.empty()) continue;
    const auto& all = detail::find_config_key(section, detail::choosing_key(section))->spec.choices;
    if (key.users.size() != all.size()) rules.push_back(needs_user(key));
  }
  if (section == "optim") {
    Json group = Json::object();
    for (const GroupKey& key : detail::group_keys()) {
      group[key.spec.name] = schema_of(key.spec, /*has_default=*/false);
    }
    Json items = closed_object(std::move(group));
    items["required"] = {"match"};
    properties["groups"] = {
        {"description", "Settings for some parameters; the first group that matches counts."},
        {"type", "array"},
        {"items", std::move(items)}};
  }
  Json schema = closed_object(std::move(properties));
  if (!rules.empty()) schema["allOf"] = std::move(rules);
  return schema;
}

// The keys of [task] depend on its name.
Json task_schema() {
  Json name = schema_of(detail::find_config_key("task", "name")->spec, /*has_default=*/false);
  name["enum"] = Json::array();
  Json rules = Json::array();
  for (const TaskEntry& entry : tasks()) {
    name["enum"].push_back(entry.name);
    Json properties{{"name", {{"description", entry.summary}}}};
    for (const OptionSpec& spec : entry.options) properties[spec.name] = schema_of(spec, true);
    rules.push_back({{"if", {{"properties", {{"name", {{"const", entry.name}}}}}}},
                     {"then", closed_object(std::move(properties))}});
  }
  return {{"type", "object"},
          {"required", {"name"}},
          {"properties", {{"name", std::move(name)}}},
          {"allOf", std::move(rules)}};
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
  std::vector<ConfigDifference> found;
  for (const Line& line : lines_of(a, false)) {
    found.push_back({line.section + "." + line.key, line.literal, ""});
  }
  for (const Line& line : lines_of(b, false)) {  // then the keys that only b has
    const std::string key = line.section + "." + line.key;
    auto place = std::ranges::find(found, key, &ConfigDifference::key);
    if (place == found.end()) place = found.insert(place, {key, "", ""});
    place->after = line.literal;
  }
  std::erase_if(found, [](const ConfigDifference& d) { return d.before == d.after; });
  for (ConfigDifference& difference : found) {
    for (std::string* text : {&difference.before, &difference.after}) {
      std::erase(*text, '\n');
      if (text->empty()) *text = "nothing";
    }
  }
  return found;
}

std::vector<KeyValues> key_values() {
  std::vector<KeyValues> all;
  const auto add = [&](const std::string& key, const std::vector<std::string>& values) {
    auto found = std::ranges::find(all, key, &KeyValues::key);
    if (found == all.end()) found = all.insert(all.end(), {key, {}});
    std::ranges::copy_if(values, std::back_inserter(found->values), [&](const std::string& value) {
      return !detail::contains(found->values, value);
    });
  };
  const auto add_key = [&](const std::string& key, const OptionSpec& spec) {
    const bool flag = std::holds_alternative<bool>(spec.fallback);
    add(key, flag ? std::vector<std::string>{"true", "false"} : spec.choices);
  };
  for (const ConfigKey& key : detail::config_keys()) add_key(key.name(), key.spec);
  for (const TaskEntry& task : tasks()) {
    add("task.name", {task.name});
    for (const OptionSpec& spec : task.options) add_key("task." + spec.name, spec);
  }
  return all;
}

std::string describe_config(const std::string& key_or_section) {
  std::string text;
  for (auto& [section, heading, rows] : all_tables()) {
    if (!key_or_section.empty() && key_or_section != section) {
      std::erase_if(rows, [&, &section = section](const Row& row) {
        return row[0] != key_or_section && section + "." + row[0] != key_or_section;
      });
      if (rows.empty()) continue;
    }
    text += (text.empty() ? "" : "\n") + heading + "\n" + text_table(rows, {Align::left}, "  ");
  }
  check<ConfigError>(!text.empty(), "there is no key or section '", key_or_section, "'",
                     detail::suggest(key_or_section));
  return text;
}

std::string config_schema() {
  Json properties = Json::object();
  for (const std::string& section : detail::config_sections()) {
    properties[section] = section == "task" ? task_schema() : section_schema(section);
  }
  Json schema = closed_object(std::move(properties));
  schema["required"] = {"task"};
  Json whole{{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", "xgrad config"}};
  whole.update(schema);
  return whole.dump(2) + "\n";
}

}  // namespace xgrad

// The keys of a config as a JSON Schema (draft 7), which editors read.
#include <cmath>
#include <nlohmann/json.hpp>

#include <xgrad/data/task.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/config/keys.hpp>

namespace xgrad {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const OptionValue& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

// Adds a minimum or maximum. A bound from above() or below() becomes the number that it excludes.
void add_bound(Json& schema, const char* inclusive, const char* exclusive, double bound,
               double outwards, bool integer) {
  if (std::isinf(bound)) return;
  const double next = std::nextafter(bound, outwards);
  const bool open = std::round(bound) != bound && std::round(next) == next;
  const double number = open ? next : bound;
  schema[open ? exclusive : inclusive] = integer ? Json(std::int64_t(number)) : Json(number);
}

Json schema_of_list(const OptionSpec& spec) {
  Json number{{"type", "number"}};
  add_bound(number, "minimum", "exclusiveMinimum", spec.min, -HUGE_VAL, /*integer=*/false);
  add_bound(number, "maximum", "exclusiveMaximum", spec.max, HUGE_VAL, /*integer=*/false);
  Json list{{"type", "array"}, {"items", std::move(number)}}, word{{"enum", spec.choices}};
  return {{"description", spec.help},
          {"anyOf", Json::array({std::move(list), std::move(word)})},
          {"default", to_json(spec.fallback)}};
}

// The schema of one value.
Json schema_of(const OptionSpec& spec, bool has_default) {
  constexpr const char* kTypes[] = {"boolean", "integer", "number", "string"};
  if (std::holds_alternative<Numbers>(spec.fallback)) return schema_of_list(spec);
  Json schema{{"description", spec.help}, {"type", kTypes[spec.fallback.index()]}};
  if (!spec.choices.empty()) schema["enum"] = spec.choices;
  const bool integer = std::holds_alternative<std::int64_t>(spec.fallback);
  add_bound(schema, "minimum", "exclusiveMinimum", spec.min, -HUGE_VAL, integer);
  add_bound(schema, "maximum", "exclusiveMaximum", spec.max, HUGE_VAL, integer);
  if (has_default) schema["default"] = to_json(spec.fallback);
  return schema;
}

Json closed_object(Json properties) {
  return {
      {"type", "object"}, {"additionalProperties", false}, {"properties", std::move(properties)}};
}

// A key that only some parts read requires the section's `name` or `kind` to be one of them, or
// `hooks` to list one.
Json needs_user(const detail::ConfigKey& key) {
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
  for (const detail::ConfigKey& key : detail::config_keys()) {
    if (key.section != section) continue;
    properties[key.spec.name] = schema_of(key.spec, key.get(Config()).has_value());
    const auto& parts =
        detail::find_config_key(section, detail::choosing_key(section))->spec.choices;
    if (!key.users.empty() && key.users.size() != parts.size()) rules.push_back(needs_user(key));
  }
  if (section == "optim") {
    Json group = Json::object();
    for (const detail::GroupKey& key : detail::group_keys()) {
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
    for (const OptionSpec& spec : entry.options) {
      properties[spec.name] = schema_of(spec, /*has_default=*/true);
    }
    rules.push_back({{"if", {{"properties", {{"name", {{"const", entry.name}}}}}}},
                     {"then", closed_object(std::move(properties))}});
  }
  return {{"type", "object"},
          {"required", {"name"}},
          {"properties", {{"name", std::move(name)}}},
          {"allOf", std::move(rules)}};
}

}  // namespace

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

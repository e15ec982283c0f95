#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/option_text.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/data/text/columns.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/config/keys.hpp>

namespace xgrad {

namespace {

using Row = std::vector<std::string>;  // name, default, values, help

// Rows in columns, under a heading.
struct Table {
  std::string section;
  std::string heading;
  std::vector<Row> rows;

  std::string text() const { return heading + "\n" + text_table(rows, {Align::left}, "  "); }
};

Row row_of(const OptionSpec& spec, bool has_default) {
  return {spec.name, has_default ? to_literal(spec.fallback) : "-", allowed_values(spec),
          spec.help};
}

// Tasks with the same keys share a table.
void add_tasks(std::vector<Table>& tables) {
  const std::size_t first = tables.size();
  for (const TaskEntry& entry : tasks()) {
    std::vector<Row> rows;
    for (const OptionSpec& spec : entry.options) rows.push_back(row_of(spec, true));
    const auto same = std::find_if(tables.begin() + std::ptrdiff_t(first), tables.end(),
                                   [&](const Table& table) { return table.rows == rows; });
    if (same != tables.end()) {
      same->heading += ", \"" + entry.name + "\"";
    } else {
      tables.push_back({"task", "[task] with name = \"" + entry.name + "\"", std::move(rows)});
    }
  }
}

Table groups_table() {
  Table table{"optim",
              "[[optim.groups]], settings for some parameters; the first group that matches counts",
              {}};
  for (const detail::GroupKey& key : detail::group_keys()) {
    table.rows.push_back(row_of(key.spec, key.get({}) && key.spec.name != "match"));
  }
  return table;
}

std::vector<Table> all_tables() {
  std::vector<Table> tables;
  for (const std::string& section : detail::config_sections()) {
    Table table{section, "[" + section + "]", {}};
    for (const detail::ConfigKey& key : detail::config_keys()) {
      if (key.section != section) continue;
      const bool has_default = key.get(Config()).has_value() && key.name() != "task.name";
      table.rows.push_back(row_of(key.spec, has_default));
    }
    tables.push_back(std::move(table));
    if (section == "task") add_tasks(tables);
    if (section == "optim") tables.push_back(groups_table());
  }
  return tables;
}

std::string suggestion(const std::string& key_or_section) {
  const std::size_t dot = key_or_section.find('.');
  if (dot != std::string::npos) {
    return detail::suggest_key(key_or_section.substr(0, dot), key_or_section.substr(dot + 1), {});
  }
  const std::string key = detail::suggest_anywhere(key_or_section);
  return key.empty() ? detail::suggest_section(key_or_section) : key;
}

}  // namespace

std::vector<KeyValues> key_values() {
  std::vector<KeyValues> all;
  const auto add = [&](const std::string& key, const OptionSpec& spec) {
    const auto same = [&](const KeyValues& known) { return known.key == key; };
    auto found = std::find_if(all.begin(), all.end(), same);
    if (found == all.end()) found = all.insert(all.end(), {key, {}});
    const bool is_switch = std::holds_alternative<bool>(spec.fallback);
    for (const std::string& value :
         is_switch ? std::vector<std::string>{"true", "false"} : spec.choices) {
      if (std::find(found->values.begin(), found->values.end(), value) == found->values.end()) {
        found->values.push_back(value);
      }
    }
  };
  for (const detail::ConfigKey& key : detail::config_keys()) add(key.name(), key.spec);
  for (const TaskEntry& task : tasks()) {
    const auto name = [](const KeyValues& known) { return known.key == "task.name"; };
    std::find_if(all.begin(), all.end(), name)->values.push_back(task.name);
    for (const OptionSpec& spec : task.options) add("task." + spec.name, spec);
  }
  return all;
}

std::string describe_config(const std::string& key_or_section) {
  std::string text;
  for (Table& table : all_tables()) {
    std::vector<Row> wanted;
    for (const Row& row : table.rows) {
      const bool named = row[0] == key_or_section || table.section + "." + row[0] == key_or_section;
      if (named) wanted.push_back(row);
    }
    const bool whole = key_or_section.empty() || key_or_section == table.section;
    if (!whole) table.rows = wanted;
    if (whole || !wanted.empty()) text += (text.empty() ? "" : "\n") + table.text();
  }
  check<ConfigError>(!text.empty(), "there is no key or section '", key_or_section, "'",
                     suggestion(key_or_section));
  return text;
}

}  // namespace xgrad

#include <xgrad/train/sweep/results.hpp>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include <xgrad/train/sweep/queue.hpp>

namespace xgrad {

namespace {

using Json = nlohmann::ordered_json;

// A TOML value as JSON. Values that JSON writes in another way, such as dates, stay text.
Json value_of(const std::string& literal) {
  const Json value = Json::parse(literal, nullptr, /*allow_exceptions=*/false);
  return value.is_discarded() || value.is_structured() ? Json(literal) : value;
}

Json object_of(const SweptRun& run, const RunHistory& history) {
  constexpr const char* kStates[] = {"finished", "failed", "unfinished"};
  Json object{{"run", std::filesystem::path(run.directory).filename().string()},
              {"state", kStates[std::size_t(history.state)]},
              {"step", history.last_step},
              {"seconds", history.seconds}};
  for (const auto& [key, value] : run.setting) object[key] = value_of(value);
  for (const std::string split : {"validation", "test"}) {
    const MetricsRow* row = history.last(split);
    if (row == nullptr) continue;
    for (const auto& [name, number] : row->numbers) object[split + "_" + name] = number;
  }
  return object;
}

// Spreadsheets run a text that begins like a formula, so an apostrophe before it tells them that it
// is text (OWASP, CSV Injection).
std::string cell(const Json& value) {
  std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (value.is_string() && text.find_first_of("=+-@\t\r") == 0) text.insert(0, "'");
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string csv_of(const Json& objects) {
  std::vector<std::string> names;
  for (const Json& object : objects) {
    for (const auto& [name, value] : object.items()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + cell(name);
  text += "\r\n";
  for (const Json& object : objects) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      text += i == 0 ? "" : ",";
      if (object.contains(names[i])) text += cell(object[names[i]]);
    }
    text += "\r\n";
  }
  return text;
}

}  // namespace

SweepFiles sweep_files(const std::vector<SweptRun>& runs) {
  Json objects = Json::array();
  for (const SweptRun& run : runs) {
    if (const auto history = history_of(run.directory)) objects.push_back(object_of(run, *history));
  }
  return {objects.dump(1) + "\n", csv_of(objects)};
}

}  // namespace xgrad

#include <xgrad/train/checkpoint/layout.hpp>

#include <algorithm>
#include <map>
#include <set>

#include <xgrad/autograd/check.hpp>

namespace xgrad {

namespace {

constexpr std::size_t kNameLimit = 1000;

bool prints(char c) {
  return c > ' ' && c <= '~' && c != '/';
}

void check_name(const std::string& name) {
  const bool parts = !name.empty() && name.front() != '.' && name.back() != '.' &&
                     name.find("..") == std::string::npos;
  check<CheckpointError>(
      parts && name.size() <= kNameLimit && std::all_of(name.begin(), name.end(), prints), "'",
      name, "' is not a valid name for an entry of a checkpoint");
}

using Place = std::pair<std::string, std::string>;  // group and member

Place parameter_place(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  check<CheckpointError>(dot != std::string::npos, "parameter '", name, "' belongs to no module");
  return {"/" + name.substr(0, dot), name.substr(dot + 1)};
}

Place optimizer_place(const std::string& name) {
  const std::size_t dot = name.find('.');
  check<CheckpointError>(dot != std::string::npos, "optimizer state '", name,
                         "' must be named SLOT.PARAMETER");
  return {"/optimizer/" + name.substr(0, dot), name.substr(dot + 1)};
}

template <class PlaceOf>
Layout group(const std::vector<std::string>& names, PlaceOf place_of) {
  Layout layout;
  std::map<std::string, std::size_t> position;
  std::set<std::string> seen;
  for (const std::string& name : names) {
    check_name(name);
    check<CheckpointError>(seen.insert(name).second, "'", name, "' appears twice");
    const auto [path, member] = place_of(name);
    const auto [found, fresh] = position.emplace(path, layout.size());
    if (fresh) layout.push_back({path, {}});
    layout[found->second].members.push_back(member);
  }
  return layout;
}

}  // namespace

Layout parameter_layout(const std::vector<std::string>& names) {
  Layout layout = group(names, parameter_place);
  for (const LayoutGroup& module : layout) {
    check<CheckpointError>(module.path != "/optimizer" && module.path != "/trainer", "the module '",
                           module.path.substr(1), "' has a name that is reserved in checkpoints");
  }
  return layout;
}

Layout optimizer_layout(const std::vector<std::string>& names) {
  return group(names, optimizer_place);
}

std::string parameter_path(const std::string& name) {
  const auto [path, member] = parameter_place(name);
  return path + "/" + member;
}

std::string optimizer_path(const std::string& name) {
  const auto [path, member] = optimizer_place(name);
  return path + "/" + member;
}

std::string state_path(const std::string& name) {
  check_name(name);
  return "/trainer/state/" + name;
}

std::string join_lines(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += name + '\n';
  return text;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

}  // namespace xgrad

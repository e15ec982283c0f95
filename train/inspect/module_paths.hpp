// Finds the path of a module by its id.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <xgrad/autograd/parameters.hpp>

namespace xgrad {

/// The id of the module with this path, Scope::id().
inline std::uint64_t module_id(const std::string& path) {
  return (Rng(0) / path).key();
}

/// The path of each module that has parameters, such as "encoder.layers.0.self_attn", by its
/// id.
template <class T>
std::map<std::uint64_t, std::string> paths_by_id(const Parameters<T>& parameters) {
  std::map<std::uint64_t, std::string> paths;
  for (const Parameter<T>& p : parameters) {
    for (std::size_t dot = p.name.find('.'); dot != p.name.npos; dot = p.name.find('.', dot + 1)) {
      const std::string path = p.name.substr(0, dot);
      paths[module_id(path)] = path;
    }
  }
  return paths;
}

}  // namespace xgrad

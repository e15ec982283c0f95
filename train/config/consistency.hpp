// Rules that relate several keys of a config. This header is not installed.
#pragma once

#include <string>
#include <vector>

#include <xgrad/train/config/config.hpp>

namespace xgrad::detail {

struct Inconsistency {
  std::vector<std::string> keys;  ///< keys of the rule; the message is about the first
  std::string text;
};

std::vector<Inconsistency> inconsistencies(const Config& config);

/// Says what is wrong with the path of a file or directory to be created; empty if nothing is.
std::string flaw_of_new_path(const std::string& path);

/// Throws ConfigError if something is wrong with `path`, a new directory named after `file`.
void check_named_after(const std::string& file, const std::string& path);

}  // namespace xgrad::detail

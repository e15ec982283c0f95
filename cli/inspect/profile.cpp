#include <xgrad/train/inspect/profile.hpp>

#include <fmt/format.h>

#include <filesystem>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/storage/disk/publish.hpp>

namespace xgrad::commands {

namespace fs = std::filesystem;

int profile(const ProfileArguments& arguments) {
  const fs::path out = arguments.trace;
  xgrad::check<IoError>(arguments.trace.empty() || !fs::exists(out), arguments.trace,
                        " exists already");
  const Config config = load_config(arguments.config, arguments.overrides);
  if (config.train.threads > 0) set_threads(config.train.threads);
  const Profile result = xgrad::profile(config, arguments.steps);
  fmt::print("{}", to_text(result));
  if (arguments.trace.empty()) return 0;
  const fs::path folder = out.has_parent_path() ? out.parent_path() : ".";
  publish(folder.string(), out.filename().string(), result.trace);
  return 0;
}

}  // namespace xgrad::commands

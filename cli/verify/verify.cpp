#include <fmt/format.h>

#include <xgrad/autograd/check.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>

namespace xgrad::commands {

namespace {

int verify(const std::vector<std::string>& files) {
  int code = 0;  // that of the first bad file
  for (const std::string& file : files) {
    std::string why;
    int bad = 4;
    try {
      why = damage(file);
    } catch (const CheckpointError& error) {  // not damaged, but in a newer format
      why = error.what();
    } catch (const IoError& error) {
      why = error.what();
      bad = 6;
    }
    fmt::print("{}\n", why.empty() ? file + ": ok" : why);
    if (code == 0 && !why.empty()) code = bad;
  }
  return code;
}

}  // namespace

Command verify_command() {
  const auto files = std::make_shared<std::vector<std::string>>();
  return Command("verify", "Check checkpoints for damage",
                 {{"files", "checkpoints", files.get(), kRequired}},
                 [files] { return verify(*files); });
}

}  // namespace xgrad::commands

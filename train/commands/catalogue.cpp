// The commands that only tell: config, tasks, info, verify.
#include <fmt/format.h>

#include <xgrad/autograd/cpu.hpp>
#include <xgrad/autograd/gemm.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/train/checkpoint.hpp>
#include <xgrad/train/commands.hpp>
#include <xgrad/train/config.hpp>
#include <xgrad/version.hpp>

namespace xgrad::commands {

int config(const std::string& key) {
  fmt::print("{}", describe_config(key));
  return 0;
}

int tasks(const std::string& name) {
  if (name.empty()) {
    for (const TaskEntry& task : xgrad::tasks()) fmt::print("{:<16} {}\n", task.name, task.summary);
    return 0;
  }
  const TaskEntry& task = find_task(name);
  fmt::print("{}: {}\n\n", task.name, task.summary);
  for (const OptionSpec& option : task.options) {
    fmt::print("  {:<18} {}\n", option.name, option.help);
  }
  for (const std::string& package : task.debian_packages) {
    fmt::print("\nneeds the Debian package {}\n", package);
  }
  return 0;
}

int info() {
  fmt::print("xgrad      {}\nprocessor  {}\nBLAS core  {}\nthreads    {}\n", kVersion, cpu_name(cpu()),
             blas_core(), threads());
  return 0;
}

int verify(const std::vector<std::string>& files) {
  bool all_good = true;
  for (const std::string& file : files) {
    std::string why;
    const bool good = xgrad::verify(file, &why);
    fmt::print("{}: {}\n", file, good ? "ok" : why);
    all_good = all_good && good;
  }
  return all_good ? 0 : 4;
}

}  // namespace xgrad::commands

#include <fmt/format.h>

#include <filesystem>

#include <xgrad/autograd/check.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/checkpoint/find_run.hpp>
#include <xgrad/train/checkpoint/manifest.hpp>
#include <xgrad/train/inspect/gradcheck.hpp>
#include <xgrad/train/logs/history.hpp>
#include <xgrad/train/logs/metrics_row.hpp>

namespace xgrad::commands {

namespace {

constexpr int kDamaged = 4, kUnreadable = 6;

// Prints "FILE: ok", or what is wrong. Returns the exit code.
int verify_checkpoint(const std::string& file) {
  std::string why;
  int bad = kDamaged;
  try {
    why = find_damage(file);
  } catch (const CheckpointError& error) {  // not damaged, but in a newer format
    why = error.what();
  } catch (const IoError& error) {
    why = error.what();
    bad = kUnreadable;
  }
  fmt::print("{}\n", why.empty() ? file + ": ok" : why);
  return why.empty() ? 0 : bad;
}

// Prints the first line of the metrics up to that step that is no row. Returns the exit code.
int verify_metrics(const Folder& run, std::uint64_t step) {
  const std::string name = "metrics.jsonl";
  if (!run.holds(name)) return 0;
  const RowsUntil found = rows_until(run, name, step);
  if (found.bad.empty()) return 0;
  fmt::print("{}: line {} is not a row of this run; `xgrad resume {}` moves it to {}.bad\n",
             run.path_of(name), found.bad[0], run.path(), name);
  return kDamaged;
}

// Checks some of the tensors of the certificate again.
int verify_certificate(const Folder& run) {
  const std::string file = run.path_of(kCertificate);
  try {
    const Certificate certificate = *read_certificate(run);
    const std::size_t again = recheck(certificate, read_run(run.path()).config);
    fmt::print("{}: ok, {} of {} rows checked again\n", file, again,
               certificate.check.report.rows.size());
    return 0;
  } catch (const CheckpointError& error) {
    const std::string why = error.what();
    fmt::print("{}; write it anew with `xgrad gradcheck {}`\n",
               why.starts_with(file) ? why : file + " " + why, run.path());
    return kDamaged;
  }
}

int verify_run(const std::string& path) {
  const Folder run(path);
  check_is_run(run);
  std::vector<CheckpointFile> files;
  if (run.holds_folder("checkpoints")) files = list_checkpoints(path + "/checkpoints");
  if (files.empty()) fmt::print("{}: there is no checkpoint\n", path);
  int code = files.empty() ? kDamaged : 0;
  const auto add = [&code](int result) { code = code != 0 ? code : result; };
  std::uint64_t step = 0;  // of the newest checkpoint that is good
  for (const CheckpointFile& file : files) {
    const int result = verify_checkpoint(file.path);
    if (result == 0) step = file.step;
    add(result);
  }
  add(verify_metrics(run, step));
  if (run.holds(kCertificate)) add(verify_certificate(run));
  return code;
}

int verify_path(const std::string& path) try {
  return std::filesystem::is_directory(status_of(path)) ? verify_run(path)
                                                        : verify_checkpoint(path);
} catch (const IoError& error) {
  fmt::print("{}\n", error.what());
  return kUnreadable;
}

int verify(const std::vector<std::string>& paths) {
  int code = 0;  // that of the first bad file
  for (const std::string& path : paths) {
    const int result = verify_path(path);
    if (code == 0) code = result;
  }
  return code;
}

}  // namespace

Command verify_command() {
  const auto paths = std::make_shared<std::vector<std::string>>();
  return Command("verify", "Check checkpoints for damage, and the certificate of a run's gradients",
                 {{"paths", "run directories or checkpoints", paths.get(), kRequired}},
                 [paths] { return verify(*paths); });
}

}  // namespace xgrad::commands

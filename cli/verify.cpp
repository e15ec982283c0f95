// The commands verify, gradcheck, replay and diff, which check files and gradients.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include <xgrad/autograd/check.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/diagnose/replay.hpp>
#include <xgrad/train/inspect/gradcheck.hpp>
#include <xgrad/train/logs/history.hpp>
#include <xgrad/train/logs/metrics_row.hpp>
#include <xgrad/train/run/digests.hpp>
#include <xgrad/train/run/directory.hpp>

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

// Returns the exit code of the first bad file.
int verify(const std::vector<std::string>& paths) {
  int code = 0;
  for (const std::string& path : paths) {
    int result = kUnreadable;
    try {
      const bool run = std::filesystem::is_directory(status_of(path));
      result = run ? verify_run(path) : verify_checkpoint(path);
    } catch (const IoError& error) {
      fmt::print("{}\n", error.what());
    }
    if (code == 0) code = result;
  }
  return code;
}

struct GradcheckArguments : ConfigArguments {
  std::string certificate;
};

int print(const Certificate& certificate) {
  const ModelCheck& check = certificate.check;
  const bool images = check.lengths[0] == 0;
  fmt::print("{}differences in {}; {}\n", check.report.table(), check.arithmetic,
             images ? fmt::format("{} images", check.lengths.size())
                    : fmt::format("examples of length {}", fmt::join(check.lengths, " and ")));
  if (certificate.precision == "bf16") {
    fmt::print(
        "backward is checked in double; the rounding of products' operands to bfloat16 in training "
        "is not covered\n");
  }
  return check.report.ok() ? 0 : 1;
}

// Keeps the run locked, so that it cannot change its config meanwhile.
int check_run(const GradcheckArguments& a) {
  xgrad::check<ConfigError>(a.overrides.empty() && a.certificate.empty(), a.config,
                            " is a run: its own config is checked, and the certificate is written "
                            "into its directory; give the config itself for anything else");
  const RunDirectory run = RunDirectory::open(a.config);
  const Certificate certificate = certify(read_run(a.config).config);
  run.replace_certificate(to_json(certificate));
  return print(certificate);
}

int gradcheck(const GradcheckArguments& a) {
  if (std::filesystem::is_directory(status_of(a.config))) return check_run(a);
  const Config config = load_config(a.config, a.overrides);
  if (!a.certificate.empty()) check_new(a.certificate);
  const Certificate certificate = certify(config);
  if (!a.certificate.empty()) publish_file(a.certificate, to_json(certificate));
  return print(certificate);
}

std::string difference(const ReplayRow& row) {
  if (!row.finite) return row.reference_finite ? "not finite" : "both not finite";
  return row.reference_finite ? fmt::format("{:.1e}", row.difference) : "reference not finite";
}

void print(const ReplayRow& row, const char* mark) {
  fmt::print("{} {:>4}  {:<20} {:<28} {:<44} {:>16} {:>10.3g}  {}\n", mark, row.place.number,
             row.place.op, row.place.module, row.place.tensor, to_string(row.shape), row.largest,
             difference(row));
}

// Reports errors as damage to the file, except those of the task's own data files.
std::vector<ReplayRow> run(const Checkpoint& failed, const std::string& file) try {
  fmt::print("{}\n{}\n\n", file, state_value<std::string>(failed, "fault"));
  return xgrad::replay(failed);
} catch (const DataError&) {
  throw;
} catch (const IoError&) {
  throw;
} catch (const Error& error) {
  xgrad::detail::fail<CheckpointError>(file, ": ", error.what());
}

int replay(const std::string& file) {
  const std::vector<ReplayRow> rows = run(load_checkpoint(file, CheckpointKind::failed_step), file);
  const auto first = std::find_if(rows.begin(), rows.end(),
                                  [](const ReplayRow& row) { return row.leaves_band(); });
  fmt::print("  {:>4}  {:<20} {:<28} {:<44} {:>16} {:>10}  {}\n", "op", "name", "module", "tensor",
             "shape", "largest", "difference");
  for (auto row = rows.begin(); row != rows.end(); ++row) print(*row, row == first ? ">" : " ");
  if (first == rows.end()) {
    fmt::print("\nevery op stays within {:g} of the reference\n", ReplayRow::kBand);
    return 0;
  }
  fmt::print("\nthe first to differ from the reference: {} at {}: {}\n", to_string(first->place),
             index_text(first->shape, first->worst), difference(*first));
  return 1;
}

}  // namespace

Command verify_command() {
  const auto paths = std::make_shared<std::vector<std::string>>();
  return Command("verify", "Check checkpoints for damage, and the certificate of a run's gradients",
                 {{"paths", "run directories or checkpoints", paths.get(), kRequired}},
                 [paths] { return verify(*paths); });
}

Command gradcheck_command() {
  const auto a = std::make_shared<GradcheckArguments>();
  return Command(
      "gradcheck", "Check a model's gradients by finite differences",
      {{"config", "a TOML file, or a run directory, which gets a certificate", &a->config,
        kRequired},
       {"overrides", kOverrides, &a->overrides},
       {"--certificate", "write the results to this new file, as JSON", &a->certificate, kNewPath}},
      [a] { return gradcheck(*a); });
}

Command replay_command() {
  const auto file = std::make_shared<std::string>();
  return Command("replay", "Rerun a failed step op by op and compare with higher precision",
                 {{"file", "a failed step, fault-*.h5 in a run directory", file.get(), kRequired}},
                 [file] { return replay(*file); });
}

Command diff_command() {
  const auto runs = std::make_shared<std::pair<std::string, std::string>>();
  return Command(
      "diff", "Show what differs in two runs or checkpoints",
      {{"first", kRun, &runs->first, kRequired}, {"second", kRun, &runs->second, kRequired}},
      [runs] {
        const FoundRun a = find_run(runs->first), b = find_run(runs->second);
        const std::vector<std::string> lines = differences(a.checkpoint, b.checkpoint);
        fmt::print("- {}\n+ {}\n", a.file, b.file);
        for (const std::string& line : lines) fmt::print("{}\n", line);
        const bool both = !a.directory.empty() && !b.directory.empty();
        const std::string first = both ? first_different_digest(a.directory, b.directory) : "";
        if (!first.empty()) fmt::print("first at {}\n", first);
        if (lines.empty()) fmt::print("the same to the bit\n");
        return lines.empty() ? 0 : 1;
      });
}

}  // namespace xgrad::commands

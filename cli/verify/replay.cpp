#include <fmt/format.h>

#include <algorithm>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/element.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/diagnose/replay.hpp>

namespace xgrad::commands {

namespace {

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

Command replay_command() {
  const auto file = std::make_shared<std::string>();
  return Command("replay", "Rerun a failed step op by op and compare with higher precision",
                 {{"file", "a failed step, fault-*.h5 in a run directory", file.get(), kRequired}},
                 [file] { return replay(*file); });
}

}  // namespace xgrad::commands

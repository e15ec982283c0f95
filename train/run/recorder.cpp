#include <xgrad/train/run/recorder.hpp>

#include <fmt/format.h>

#include <csignal>
#include <optional>

#include <xgrad/data/text/columns.hpp>
#include <xgrad/storage/disk/input_file.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/logs/history.hpp>

namespace xgrad {

namespace {

constexpr const char *kMetrics = "metrics.jsonl", *kCsv = "metrics.csv";

bool owes_validation(const Checkpoint& checkpoint) {
  return checkpoint.state.contains(kOwesValidation);
}

MetricsRow training_row(const TrainConfig& config, const StepReport& report) {
  MetricsRow row = metrics_row(report.step, "train", report.metrics);
  row.numbers.emplace_back("lr", report.lr);
  row.numbers.emplace_back("grad_norm", report.grad_norm);
  if (config.head_diversity > 0) row.numbers.emplace_back("head_diversity", report.head_diversity);
  if (config.curriculum_start > 0) row.numbers.emplace_back("max_length", report.max_length);
  return row;
}

}  // namespace

RunRecorder::RunRecorder(const Config& config, const TaskShape& shape, const RunDirectory& run,
                         std::uint64_t step, std::uint64_t total, Console& console,
                         const SessionOptions& options, Look look)
    : config_(config),
      run_(run),
      total_(total),
      console_(console),
      options_(options),
      look_(std::move(look)),
      board_(config, run.folder(), step),
      earlier_(last_timing(run.folder()).number("seconds").value_or(0)) {
  StepReport any;
  any.metrics.target = shape.target;
  any.metrics.next = shape.next;
  columns_ = training_row(config.train, any);
  renew_csv();
}

void RunRecorder::on_step(const StepReport& report) {
  tokens_ += report.tokens;
  ++steps_;
  shown_ = {report.step,
            total_,
            report.loss,
            report.lr,
            double(tokens_) / elapsed(),
            elapsed() / double(steps_) * double(total_ - report.step)};
  console_.progress(shown_);
  if (report.metrics.loss.count() > 0) {
    log(kMetrics, training_row(config_.train, report));
    log("timing.jsonl",
        {report.step, "", {{"seconds", earlier_ + elapsed()}, {"tokens_per_second", shown_.rate}}});
  }
  for (const auto& hook : options_.hooks) hook->on_step(report);
}

void RunRecorder::on_evaluation(std::uint64_t step, const Metrics& metrics) {
  log(kMetrics, metrics_row(step, "validation", metrics));
  shown_.step = step;
  run_.folder().append("log.txt", console_.evaluation(shown_, metrics));
  if (config_.log_tensorboard) look_(step, board_);
  for (const auto& hook : options_.hooks) hook->on_evaluation(step, metrics);
}

// Syncs the metrics and the manifest before the checkpoint: a power failure could otherwise take
// rows that no resumed run writes again, or leave a checkpoint that nothing lists. A checkpoint
// saved during its validation is overwritten after it, and only the second one is listed.
void RunRecorder::on_checkpoint(const Checkpoint& checkpoint) {
  run_.folder().sync(kMetrics);
  const Folder& folder = run_.checkpoints();
  const std::string name = checkpoint_name(checkpoint.step);
  const DigestedFile file = to_hdf5_file(checkpoint);
  if (!owes_validation(checkpoint)) add_to_manifest(folder, name, file.sha256);
  const bool owed = folder.holds(name) && owes_validation(read_checkpoint(folder.input(name)));
  (owed ? publish_over : publish)(folder, name, file.bytes);
  prune(folder, config_.train.keep,
        std::uint64_t(state_value<std::int64_t>(checkpoint, "best_step")));
  for (const auto& hook : options_.hooks) hook->on_checkpoint(checkpoint);
}

void RunRecorder::on_test(const MetricsRow& row) {
  log(kMetrics, row);
  run_.folder().sync(kMetrics);
  board_.finish();
}

void RunRecorder::on_failed_step(const StepReport& report, std::uint64_t step) {
  const std::string line =
      fmt::format("step {}: {}; nothing was updated; training {} step {}", report.step,
                  report.failure, step < report.step ? "goes back to" : "continues after", step);
  console_.line(line);
  run_.folder().append("log.txt", line);
  if (step < report.step) {
    for (const std::string file : {kMetrics, "timing.jsonl", kDigests}) {
      const std::string moved = run_.cut_back(file, step);
      if (!moved.empty()) run_.folder().append("log.txt", moved);
    }
    board_.go_back(step);
    renew_csv();
  }
  for (const auto& hook : options_.hooks) hook->on_failed_step(report, step);
}

// Failing to write this file must not hide the error of the step.
void RunRecorder::on_fatal_step(const Checkpoint& failed) {
  const std::string name = failed_step_name(failed.step + 1);
  try {
    publish_over(run_.folder(), name, to_hdf5(failed));
    failed_step_ = fmt::format("\n  kept as {}; `xgrad replay` runs it op by op",
                               run_.folder().present_path() + "/" + name);
  } catch (const Error& error) {
    failed_step_ = fmt::format("\n  and could not be kept: {}", error.what());
  }
}

bool RunRecorder::stop() {
  if (options_.kill_at > 0 && shown_.step >= options_.kill_at) std::raise(SIGKILL);
  for (const auto& hook : options_.hooks) told_to_stop_ = hook->stop() || told_to_stop_;
  return stop_signal() != 0;
}

void RunRecorder::on_stop_of(std::size_t rank) {
  console_.line(fmt::format("rank {} was told to stop", rank));
  told_to_stop_ = true;
}

// train.max_seconds does not end an evaluation early: one that takes longer would never complete.
bool RunRecorder::break_off() {
  return signals_.stop() != 0;
}

int RunRecorder::stop_signal() const {
  const bool late = config_.train.max_seconds > 0 && elapsed() >= config_.train.max_seconds;
  if (signals_.stop() != 0) return signals_.stop();
  return told_to_stop_ ? SIGTERM : late ? SIGALRM : 0;
}

double RunRecorder::elapsed() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

void RunRecorder::log(const std::string& file, const MetricsRow& row) {
  run_.folder().append(file, to_json(row));
  board_.row(row);
  if (file == kMetrics && config_.log_csv) run_.folder().append(kCsv, csv_row(row));
}

// Numbers read back exactly; what a row lacks, and NaN and infinity, become empty cells.
std::string RunRecorder::csv_row(const MetricsRow& row) const {
  std::vector<std::string> cells = {std::to_string(row.step), row.split};
  for (const auto& [name, any] : columns_.numbers) {
    const auto value = row.number(name);
    cells.push_back(value && is_finite_bits(*value) ? fmt::format("{}", *value) : "");
  }
  return csv_line(cells);
}

void RunRecorder::renew_csv() const {
  if (!config_.log_csv) return;
  std::vector<std::string> header = {"step", "split"};
  for (const auto& [name, any] : columns_.numbers) header.push_back(name);
  std::string text = csv_line(header);
  for (const MetricsRow& row : read_metrics(run_.folder(), kMetrics)) text += "\n" + csv_row(row);
  publish_over(run_.folder(), kCsv, text + "\n");
}

}  // namespace xgrad

#include <xgrad/train/run/session.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <type_traits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/cpu.hpp>
#include <xgrad/autograd/kernels/element.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/data/few.hpp>
#include <xgrad/data/rules/baseline.hpp>
#include <xgrad/data/rules/watch_rule.hpp>
#include <xgrad/data/tables/byte_stream.hpp>
#include <xgrad/data/text/amounts.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/storage/disk/room.hpp>
#include <xgrad/train/config/precision.hpp>
#include <xgrad/train/config/rules.hpp>
#include <xgrad/train/loop/trainer.hpp>
#include <xgrad/train/metrics/history.hpp>
#include <xgrad/train/metrics/rows.hpp>
#include <xgrad/train/model/mixed_precision.hpp>
#include <xgrad/train/report/report.hpp>
#include <xgrad/train/run/console.hpp>
#include <xgrad/train/run/hooks.hpp>
#include <xgrad/train/run/rank_jobs.hpp>
#include <xgrad/train/run/recorder.hpp>
#include <xgrad/train/run/signals.hpp>
#include <xgrad/train/run/tensorboard.hpp>

namespace xgrad {

namespace {

// A run resumes from its newest checkpoint that it saved and that verifies. Newer ones are renamed,
// so that the run can write its own.
void set_aside(const RunDirectory& run, std::uint64_t step, Console& console) {
  const Folder& folder = run.checkpoints();
  std::vector<std::string> said;
  for (const CheckpointFile& file : list_checkpoints(folder)) {
    if (file.step <= step) continue;
    const char* why = verify(file.path) ? "is not the file that the run saved" : "is damaged";
    const std::string name = checkpoint_name(file.step);
    std::string kept = name + ".damaged";
    for (int n = 2; folder.holds(kept); ++n) kept = fmt::format("{}.damaged-{}", name, n);
    folder.rename(name, kept);
    said.push_back(fmt::format("{} {}; renamed to {}", file.path, why, folder.path_of(kept)));
  }
  if (!said.empty()) console.line(few(said, "\n"));
}

const char* plural(std::size_t count) {
  return count == 1 ? "" : "s";
}

std::string what_fitted(const Initialization& found, const char* scalar) {
  return fmt::format("{} tensors, {} numbers, from {}{} (SHA-256 {}...)",
                     (found.partial ? "" : "all ") + std::to_string(found.tensors),
                     grouped(found.numbers), found.file,
                     found.converted ? fmt::format(", converted to {}", scalar) : "",
                     found.sha256.substr(0, 16));
}

std::string detail_of(const ModelConfig& m) {
  if (m.kind == "window_mlp") return fmt::format(", window {}", m.window);
  const bool attends = m.kind == "encoder" || m.kind == "encoder_decoder";
  return attends ? fmt::format(", {} head{}", m.heads, plural(m.heads)) : "";
}

std::string threads_text() {
  const auto count = std::size_t(threads());
  const std::string shortage = thread_shortage();
  return shortage.empty() ? fmt::format("{} thread{}", count, plural(count)) : shortage;
}

template <class T>
void show_plan(Console& console, const Config& config, const Trainer<T>& trainer,
               const RunDirectory& run) {
  const auto size = [&](Split split) { return grouped(trainer.examples(split)); };
  const ModelConfig& m = config.model;
  std::vector<std::pair<std::string, std::string>> rows = {
      {"task", fmt::format("{}: {} examples to train on, {} to validate, {} to test", config.task,
                           size(Split::train), size(Split::validation), size(Split::test))},
      {"model",
       fmt::format("{}: {} layer{}, width {}{}, {} parameters", m.kind, m.layers, plural(m.layers),
                   m.width, detail_of(m), grouped(trainer.parameters().count()))},
      {"optimizer", fmt::format("{}, lr {:g} {}, {} warm-up steps", config.optim.name,
                                config.optim.lr, config.schedule.name, config.schedule.warmup)},
      {"run", fmt::format("{} steps of {} examples, {}, seed {}", grouped(trainer.total_steps()),
                          config.train.batch * config.train.accumulate, threads_text(),
                          config.train.seed)}};
  if (trainer.initialization()) {
    std::string weights =
        what_fitted(*trainer.initialization(), std::is_same_v<T, double> ? "double" : "float");
    if (config.model.init_noise > 0) {
      weights += fmt::format(", with noise of {}", config.model.init_noise);
    }
    rows.insert(rows.begin() + 2, {"weights", weights});
  }
  rows.emplace_back("directory", run.path());
  console.table(rows);
  if (!trainer.initialization() || !trainer.initialization()->partial) return;
  for (const std::string& line : lines_of(*trainer.initialization()->partial)) {
    console.line("weights " + line);
    run.append("log.txt", "weights " + line);
  }
  console.line("");
}

// Writes report.html at the end of a run and returns the error, if any. A missing page does not
// make the run fail.
std::string leave_report(const RunDirectory& run, const std::shared_ptr<const Task>& task,
                         const std::optional<std::vector<Rule>>& rules = {}) {
  try {
    check<IoError>(run.folder().is_at_path(), run.path(), " was moved or replaced during the run");
    write_report(run.folder(), "report.html", {run.path()}, {.task = task, .rules = rules});
    return "";
  } catch (const std::exception& error) {
    return fmt::format("report.html was not written: {}", error.what());
  }
}

// Adds to the error message where the failed step is stored.
template <class T>
void train(Trainer<T>& trainer, RunRecorder& recorder, TrainerHooks& hooks) try {
  trainer.run(hooks);
} catch (const NumericError& error) {
  throw NumericError(error.what() + recorder.fault());
}

template <class T>
void train(Trainer<T>& trainer, RunRecorder& recorder, TrainerHooks& hooks, const RunDirectory& run,
           Console& console) {
  try {
    train(trainer, recorder, hooks);
  } catch (const std::exception& error) {
    try {
      run.append("log.txt", failure_line(error.what()));
    } catch (const IoError& log) {  // not the error that ended the run
      console.line(log.what());
    }
    if (const std::string why = leave_report(run, trainer.shared_task()); !why.empty())
      console.line(why);
    throw;
  }
}

// Returns nothing if a signal came during the measurement.
std::optional<std::vector<Rule>> rules_of(const Task& task, RunRecorder& recorder,
                                          Console& console) {
  struct Stopped {};
  try {
    const WatchRule watch([&](const std::string& rule, std::size_t done, std::size_t rows) {
      if (recorder.break_off()) throw Stopped();
      console.counting(rule, done, rows, "rows");
    });
    return task.rules();
  } catch (const Stopped&) {
    return std::nullopt;
  }
}

// The result of a run with these metrics on the test split and these rules.
template <class T>
Result result_of(const Config& config, const Trainer<T>& trainer, const RunDirectory& run,
                 const Metrics& test, const std::vector<Rule>& rules) {
  const Task& task = trainer.task();
  Result result{trainer.step(), trainer.parameters().count(), test, task.ceiling(Split::test),
                rules,          task.token_ceiling()};
  if (config.expect.above_baseline) result.baseline = best_baseline(task, rules);
  if (config.expect.within_steps) {
    result.reached = first_reached(config.expect, read_metrics(run.folder(), "metrics.jsonl"), task,
                                   result.baseline);
  }
  return result;
}

template <class T>
Outcome work(const Config& config, Trainer<T>& trainer, const RunDirectory& run,
             const SessionOptions& options) {
  Signals signals;
  const TaskShape shape = trainer.task().shape();
  const bool images = shape.input == InputKind::image;
  Console console(options.quiet, images ? "images" : "tokens");
  show_plan(console, config, trainer, run);
  TensorBoard board(config, run.folder(), trainer.step());
  RunRecorder recorder(
      config, shape, run, trainer.total_steps(), console, signals, options.kill_at, board,
      [&](std::uint64_t step) {
        if (!config.log_tensorboard) return;
        trainer.gather_gradients();
        board.histograms(step, trainer.parameters());
        trainer.with_evaluated_weights(
            [&] { board.attention(step, trainer.model(), trainer.parameters(), trainer.task()); });
      });
  for (const auto& hook : options.hooks) recorder.add(hook);
  ranks().watch(config.mpi.timeout);
  AgreedHooks hooks(ranks(), recorder, [&](std::size_t rank) {
    console.line(fmt::format("rank {} was told to stop", rank));
    recorder.tell_to_stop();
  });
  train(trainer, recorder, hooks, run, console);

  Outcome outcome{.directory = run.path()};
  outcome.seconds = recorder.elapsed();
  const auto stopped = [&] {
    outcome.signal = recorder.stop_signal();
    console.line(fmt::format("stopped and saved at step {}; `xgrad resume {}` continues",
                             trainer.step(), run.folder().present_path()));
    return outcome;
  };
  if (!trainer.finished()) return stopped();
  if (trainer.out_of_patience()) {
    console.line(fmt::format("no better validation loss in {} evaluations: stopped at step {}",
                             config.train.patience, trainer.step()));
  }
  const std::optional<Metrics> test = trainer.evaluate(Split::test, hooks);
  if (!test) return stopped();
  run.folder().remove("report.html");  // of an earlier end; without a page, a sweep resumes the run
  recorder.on_test(metrics_row(trainer.step(), "test", *test));
  const auto rules = rules_of(trainer.task(), recorder, console);
  if (!rules) return stopped();
  outcome.result = result_of(config, trainer, run, *test, *rules);
  if (!is_finite_bits(test->loss.mean())) {
    console.line("the loss of the test split is not finite");
  }
  outcome.verdicts = judge(config.expect, outcome.result);
  signals.let_stop();  // report.html can be written again later
  if (signals.stop() != 0) return stopped();
  outcome.report_failure = leave_report(run, trainer.shared_task(), rules);
  return outcome;
}

// Tells the user why results will differ: processors of another class compute other last bits.
void tell_class(const Checkpoint& checkpoint, const std::string& precision, Console& console) {
  const auto saved = checkpoint.state.find("cpu");
  if (saved == checkpoint.state.end()) return;
  const std::string* before = std::get_if<std::string>(&saved->second);
  const std::string now = processor_class(precision);
  if (before == nullptr || *before == now) return;
  console.line(fmt::format(
      "saved on a processor of class {}, continues on {}: results differ in the last bits", *before,
      now));
}

// Tells the user why bfloat16 saves no time.
void tell_emulation(const Config& config, Console& console) {
  if (config.train.precision != "bf16" || cpu() >= Cpu::avx512_bf16) return;
  console.line(
      "train.precision is bf16: xgrad emulates products of bfloat16 on this processor; results are "
      "correct and memory is saved, but steps are slower than with float");
}

// Makes the trainer of a run in `directory`. Reads its data, then checks that its claims can be
// judged and that two checkpoints fit on the disk: the newest one stays until the next is complete.
template <class T>
std::unique_ptr<Trainer<T>> prepared(const Config& config, const Checkpoint* checkpoint,
                                     const SessionOptions& options, const std::string& directory) {
  Console console(options.quiet, "");
  const WatchReading watch([&](const std::string& path, std::uint64_t read, std::uint64_t size) {
    console.reading(path, read, size);
  });
  send_job(ranks(), config, checkpoint);
  return agreed<T>(ranks(), [&] {
    auto trainer = std::make_unique<Trainer<T>>(config, checkpoint, nullptr, ranks());
    check_claims(config.expect, trainer->task());
    check_room(directory, 2 * trainer->checkpoint_bytes(), "two checkpoints");
    if (checkpoint != nullptr) tell_class(*checkpoint, config.train.precision, console);
    tell_emulation(config, console);
    return trainer;
  });
}

// Starts in a new directory, from a checkpoint if there is one.
template <class T>
Outcome start(const Config& config, const std::string& stem, const Checkpoint* checkpoint,
              const SessionOptions& options) {
  const auto trainer =
      prepared<T>(config, checkpoint, options, config.run_dir.empty() ? "runs" : config.run_dir);
  const RunDirectory run = RunDirectory::create(config.run_dir, stem);
  publish(run.folder(), "config.toml", to_toml(config));
  Outcome outcome = work(config, *trainer, run, options);
  end_job();
  return outcome;
}

template <class T>
Outcome go_on(const Config& config, const RunDirectory& run, const Checkpoint* checkpoint,
              const SessionOptions& options) {
  const auto trainer = prepared<T>(config, checkpoint, options, run.checkpoints().path());
  if (options.keep_config) run.replace_config(to_toml(config));
  Console console(options.quiet, "");
  if (checkpoint == nullptr) {
    console.line("no checkpoint was saved yet: starts again from step 0");
    run.forget_checkpoints();
  }
  set_aside(run, trainer->step(), console);
  for (const std::string& moved :
       {run.cut_back("metrics.jsonl", trainer->step(), /*validated=*/!trainer->owes_validation()),
        run.cut_back("timing.jsonl", trainer->step())}) {
    if (moved.empty()) continue;
    console.line(moved);
    run.append("log.txt", moved);
  }
  Outcome outcome = work(config, *trainer, run, options);
  end_job();
  return outcome;
}

// NaN and infinity are detected by their bits, so that compiler flags cannot hide them. A build in
// which a flag does must not train.
void need_guard() {
  const volatile double zero = 0;
  check<Error>(is_finite_bits(1 + zero) && !is_finite_bits(0 / zero) && !is_finite_bits(1 / zero),
               "this build cannot detect NaN and infinity: compile it without -ffast-math");
}

// Returns the options with the hooks that the config names.
SessionOptions prepared(const Config& config, SessionOptions options) {
  need_guard();
  if (config.train.threads > 0) set_threads(config.train.threads);
  for (auto& hook : make_hooks(config)) options.hooks.push_back(std::move(hook));
  return options;
}

}  // namespace

bool Outcome::holds() const {
  return std::all_of(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.holds; });
}

void check_run_name(const Config& config, const std::string& config_path) {
  if (!config.run_dir.empty()) return;
  detail::check_named_after(config_path,
                            "runs/" + std::filesystem::path(config_path).stem().string());
}

Outcome start_run(const Config& config, const std::string& config_path,
                  const SessionOptions& given) {
  const SessionOptions options = prepared(config, given);
  check_run_name(config, config_path);
  const std::string stem = std::filesystem::path(config_path).stem().string();
  return with_precision(config,
                        [&]<class T>() { return start<T>(config, stem, nullptr, options); });
}

Outcome continue_run(const Config& config, const RunDirectory& run, const Checkpoint* checkpoint,
                     const SessionOptions& given) {
  const SessionOptions options = prepared(config, given);
  return with_precision(config,
                        [&]<class T>() { return go_on<T>(config, run, checkpoint, options); });
}

Outcome branch_run(const Config& config, const std::string& directory, const Checkpoint& checkpoint,
                   const SessionOptions& given) {
  const SessionOptions options = prepared(config, given);
  const auto whole =
      std::filesystem::absolute(std::filesystem::path(directory) / "").lexically_normal();
  const std::string stem = whole.parent_path().filename().string();
  if (config.run_dir.empty()) detail::check_named_after(directory, "runs/" + stem);
  return with_precision(config,
                        [&]<class T>() { return start<T>(config, stem, &checkpoint, options); });
}

}  // namespace xgrad

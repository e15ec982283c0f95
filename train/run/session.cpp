#include <xgrad/train/run/session.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/cpu.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/data/rules/baseline.hpp>
#include <xgrad/data/watch_progress.hpp>
#include <xgrad/storage/disk/publish.hpp>
#include <xgrad/text/amounts.hpp>
#include <xgrad/text/columns.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/checkpoint/seal.hpp>
#include <xgrad/train/config/keys.hpp>
#include <xgrad/train/config/toml.hpp>
#include <xgrad/train/logs/history.hpp>
#include <xgrad/train/logs/metrics_row.hpp>
#include <xgrad/train/loop/trainer.hpp>
#include <xgrad/train/model/build.hpp>
#include <xgrad/train/model/parts.hpp>
#include <xgrad/train/run/digests.hpp>
#include <xgrad/train/run/rank_jobs.hpp>
#include <xgrad/train/run/recorder.hpp>

namespace xgrad {

namespace fs = std::filesystem;

// A run resumes from the newest checkpoint that it saved and that is intact. Newer files are
// renamed, so that the run can write its own.
static void set_aside(const RunDirectory& run, std::uint64_t step, Console& console) {
  const Folder& folder = run.checkpoints();
  std::vector<std::string> said;
  for (const CheckpointFile& file : list_checkpoints(folder)) {
    if (file.step <= step) continue;
    const bool whole = find_damage(file.path).starts_with(file.path + kUnsaved);
    const std::string name = checkpoint_name(file.step);
    std::string kept = name + ".damaged";
    for (int n = 2; folder.holds(kept); ++n) kept = fmt::format("{}.damaged-{}", name, n);
    folder.rename(name, kept);
    said.push_back(fmt::format("{} {}; renamed to {}", file.path,
                               whole ? "is not the file that the run saved" : "is damaged",
                               folder.path_of(kept)));
  }
  if (!said.empty()) console.line(few(said, "\n"));
}

// "1 head", "2 heads"
static std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// "all 12 tensors, 3,456 numbers, from FILE, converted to double (SHA-256 0123456789abcdef...)"
static std::string weights_text(const Initialization& found, const Config& config) {
  const char* type = config.train.precision == "double" ? "double" : "float";
  const double noise = config.model.init_noise;
  return fmt::format("{}{} tensors, {} numbers, from {}{} (SHA-256 {}...){}",
                     found.partial ? "" : "all ", found.tensors, grouped(found.numbers), found.file,
                     found.converted ? fmt::format(", converted to {}", type) : "",
                     found.sha256.substr(0, 16),
                     noise > 0 ? fmt::format(", with noise of {}", noise) : "");
}

static std::string model_text(const ModelConfig& m, std::size_t parameters) {
  std::string detail;
  if (m.kind == "window_mlp") detail = fmt::format(", window {}", m.window);
  if (m.kind == "encoder" || m.kind == "encoder_decoder") detail = ", " + counted(m.heads, "head");
  return fmt::format("{}: {}, width {}{}, {} parameters", m.kind, counted(m.layers, "layer"),
                     m.width, detail, grouped(parameters));
}

template <class T>
static void show_plan(Console& console, const Config& config, const Trainer<T>& trainer,
                      const RunDirectory& run) {
  const TrainConfig& train = config.train;
  const auto size = [&](Split split) { return grouped(trainer.examples(split)); };
  const std::optional<Initialization>& initial = trainer.initialization();
  const std::string shortage = thread_shortage();
  std::vector<std::vector<std::string>> rows = {
      {"task", fmt::format("{}: {} examples to train on, {} to validate, {} to test", config.task,
                           size(Split::train), size(Split::validation), size(Split::test))},
      {"model", model_text(config.model, trainer.parameters().count())},
      {"optimizer", fmt::format("{}, lr {:g} {}, {} warm-up steps", config.optim.name,
                                config.optim.lr, config.schedule.name, config.schedule.warmup)},
      {"run", fmt::format("{} steps of {} examples, {}, seed {}", grouped(trainer.total_steps()),
                          train.batch * train.accumulate,
                          shortage.empty() ? counted(std::size_t(threads()), "thread") : shortage,
                          train.seed)},
      {"directory", run.path()}};
  if (initial) rows.insert(rows.begin() + 2, {"weights", weights_text(*initial, config)});
  console.line(text_table(rows, {Align::left}, "  "));
  if (!initial || !initial->partial) return;
  for (const std::string& line : lines_of(*initial->partial)) {
    console.line("weights " + line);
    run.folder().append("log.txt", "weights " + line);
  }
  console.line("");
}

// Trains. Writes an error that ends the run into the run's log, too.
template <class T>
static void train(Trainer<T>& trainer, RunRecorder<T>& recorder, const RunDirectory& run,
                  Console& console) try {
  trainer.run(recorder);
} catch (const std::exception& error) {
  try {
    run.folder().append("log.txt", failure_line(error.what()));
  } catch (const IoError& second) {  // the log failed; throw the first error instead
    console.line(second.what());
  }
  throw;
}

// Returns nothing if a signal came during the measurement.
static std::optional<std::vector<Rule>> rules_of(const Task& task, TrainerHooks& hooks,
                                                 Console& console) {
  struct Stopped {};
  try {
    const WatchProgress watch([&](const std::string& rule, std::uint64_t done, std::uint64_t rows) {
      if (hooks.break_off()) throw Stopped();
      console.counting(rule, done, rows, "rows");
    });
    return task.rules();
  } catch (const Stopped&) {
    return std::nullopt;
  }
}

template <class T>
static Outcome work(const Config& config, Trainer<T>& trainer, const RunDirectory& run,
                    const SessionOptions& options) {
  const bool images = trainer.task().shape().input == InputKind::image;
  Console console(options.quiet, images ? "images" : "tokens");
  show_plan(console, config, trainer, run);
  RunRecorder recorder(config, trainer, run, console, options);
  train(trainer, recorder, run, console);

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
    console.line(fmt::format("no better validation {} in {} evaluations: stopped at step {}",
                             config.train.best_metric, config.train.patience, trainer.step()));
  }
  const Folder& saved = run.checkpoints();
  const Checkpoint last = read_checkpoint(saved.input(checkpoint_name(trainer.step())));
  const auto best = best_checkpoint(saved, config.train, last);
  const auto test = trainer.evaluate(Split::test, recorder, best ? &*best : nullptr);
  if (!test) return stopped();
  const std::uint64_t scored = best ? best->step : trainer.step();
  recorder.on_test(metrics_row(scored, "test", *test));
  const auto rules = rules_of(trainer.task(), recorder, console);
  if (!rules) return stopped();
  const Task& task = trainer.task();
  Result& result = outcome.result =
      Result{trainer.step(), trainer.parameters().count(), *test, task.ceiling(Split::test),
             *rules,         task.token_ceiling()};
  if (best) result.best = best->step;
  result.hash = state_hash(last);
  result.arithmetic = arithmetic(config.train.precision == "bf16");
  if (config.expect.above_baseline) result.baseline = best_baseline(task, *rules);
  const std::vector<MetricsRow> rows = read_metrics(run.folder(), "metrics.jsonl");
  if (config.expect.within_steps) {
    result.reached = first_reached(config.expect, rows, task, result.baseline);
  }
  const std::string hint = got_worse(config.train, rows, trainer.best_step());
  if (!hint.empty()) console.line(hint);
  if (!is_finite_bits(test->loss.mean())) {
    console.line("the loss of the test split is not finite");
  }
  outcome.verdicts = judge(config.expect, outcome.result);
  return outcome;
}

// Tells the user why results differ, or why bfloat16 saves no time.
static void tell_about_cpu(const Config& config, const Checkpoint* checkpoint, Console& console) {
  const bool bf16 = config.train.precision == "bf16";
  const std::string before = checkpoint == nullptr ? "" : arithmetic_of(*checkpoint);
  if (const std::string now = arithmetic(bf16); !before.empty() && before != now) {
    console.line(
        fmt::format("saved in the arithmetic {}, continues in {}: results differ in the last bits",
                    before, now));
  }
  if (!bf16 || cpu() >= Cpu::avx512_bf16) return;
  console.line(
      "train.precision is bf16: xgrad emulates products of bfloat16 on this processor; results are "
      "correct and memory is saved, but steps are slower than with float");
}

// Refuses to train if this program was built with a flag, such as -ffast-math, that breaks tests
// for NaN and infinity.
static void need_guard() {
  const volatile double zero = 0;
  check<Error>(is_finite_bits(1 + zero) && !is_finite_bits(0 / zero) && !is_finite_bits(1 / zero),
               "this build cannot detect NaN and infinity: compile it without -ffast-math");
}

// Trains in the directory that open(trainer, console) returns. First reads the data, checks the
// claims, and checks that `place` has room for two checkpoints, because one stays until the next is
// complete.
template <class Open>
static Outcome run_session(const Config& config, const Checkpoint* checkpoint,
                           const std::string& place, SessionOptions options, const Open& open) {
  need_guard();
  if (config.train.threads > 0) set_threads(config.train.threads);
  for (auto& hook : make_hooks(config)) options.hooks.push_back(std::move(hook));
  return with_precision(config, [&]<class T>() {
    Console console(options.quiet, "");
    std::optional<WatchProgress> watch(
        std::in_place, [&](const auto&... progress) { console.reading(progress...); });
    const auto trainer = make_trainer_on_all_ranks<T>(config, checkpoint, [&](const auto& made) {
      check_claims(config.expect, made.task());
      check_room(place, 2 * made.checkpoint_bytes(), "two checkpoints");
      tell_about_cpu(config, checkpoint, console);
    });
    watch.reset();
    const RunDirectory& run = open(*trainer, console);
    if (config.log_digests) {
      options.hooks.push_back(make_digest_log(trainer->parameters(), run));
    }
    Outcome outcome = work(config, *trainer, run, options);
    end_job();
    return outcome;
  });
}

// Starts in a new directory, from a checkpoint if there is one. Copies `best`, an earlier
// checkpoint of the original run, into it.
static Outcome start(const Config& config, const std::string& stem, const Checkpoint* checkpoint,
                     const SessionOptions& options, const Checkpoint* best = nullptr) {
  std::optional<RunDirectory> run;
  const auto create = [&](const auto&, Console&) -> const RunDirectory& {
    run.emplace(RunDirectory::create(config.run_dir, stem));
    publish(run->folder(), "config.toml", to_toml(config));
    if (best != nullptr) {
      const DigestedFile file = to_hdf5_file(*best);
      add_to_manifest(run->checkpoints(), checkpoint_name(best->step), file.sha256);
      publish(run->checkpoints(), checkpoint_name(best->step), file.bytes);
    }
    return *run;
  };
  const std::string place = config.run_dir.empty() ? "runs" : config.run_dir;
  return run_session(config, checkpoint, place, options, create);
}

static void check_changes(const Config& before, const std::string& file, const Config& config,
                          const std::vector<std::string>& allowed) {
  std::string refused;
  for (const ConfigDifference& difference : differences(before, config)) {
    if (detail::contains(allowed, difference.key)) continue;
    refused += "\n  " + to_string(difference) + "   (--allow-change " + difference.key + ")";
  }
  check<ConfigError>(refused.empty(), "the config differs from that of ", file, ":", refused);
}

// A run without checkpoints starts again from step 0, unless its checkpoints were lost.
static void check_not_lost(const RunDirectory& run) {
  const auto listed = read_manifest(run.checkpoints());
  // One entry does not mean a loss: the first checkpoint is listed before it is written.
  const std::size_t lost = listed.size() - listed.count(kListedCertificate);
  check<CheckpointError>(lost < 2, run.checkpoints().path(), ": there is no checkpoint, but ",
                         kManifest, " lists ", lost, "; put one back, or start a new run");
}

// For a run that continues from `source` in another directory: the best checkpoint up to it, or its
// own checkpoint if that is the best. If the best is lost, the run begins without a best step.
static Checkpoint best_of(FoundRun& source, const TrainConfig& train) try {
  const Folder folder(source.directory + "/checkpoints");
  const auto best = best_checkpoint(folder, train, source.checkpoint);
  return best ? Checkpoint(*best) : source.checkpoint;
} catch (const CheckpointError&) {
  source.checkpoint.state.erase("best_" + train.best_metric);
  return source.checkpoint;
}

static bool is_newest(const FoundRun& source) try {
  return fs::equivalent(
      latest_checkpoint(source.directory + "/checkpoints", PassOver::unsaved).file, source.file);
} catch (const NewerFormatError&) {
  return false;  // the newest one needs another xgrad
}

void add_hook(const PartEntry& part, HookMaker make) {
  detail::add_part("log", part, [](Config& config) -> Options& { return config.hook_options; });
  detail::added<HookMaker>()[part.name] = {part.options, std::move(make)};
}

std::vector<std::shared_ptr<TrainerHooks>> make_hooks(const Config& config) {
  const std::string problem = detail::problem_of_hooks(config.log_hooks);
  check<ConfigError>(problem.empty(), "log.hooks: ", problem);
  std::vector<std::shared_ptr<TrainerHooks>> hooks;
  for (const std::string& name : detail::hooks_in(config.log_hooks)) {
    const auto& [options, make] = detail::added<HookMaker>().at(name);
    Options own = defaults(options);
    for (auto& [key, value] : own) {
      const auto given = config.hook_options.find(key);
      if (given != config.hook_options.end()) value = given->second;
    }
    hooks.push_back(make(own));
  }
  return hooks;
}

void check_run_name(const Config& config, const std::string& config_path) {
  if (!config.run_dir.empty()) return;
  detail::check_named_after(config_path, "runs/" + fs::path(config_path).stem().string());
}

Outcome start_run(const Config& config, const std::string& file, const SessionOptions& options) {
  check_run_name(config, file);
  return start(config, fs::path(file).stem().string(), nullptr, options);
}

Outcome continue_run(const Config& config, const RunDirectory& run, const Checkpoint* checkpoint,
                     const SessionOptions& options) {
  const auto cut_back = [&](const auto& trainer, Console& console) -> const RunDirectory& {
    if (options.keep_config) run.replace_config(to_toml(config));
    if (checkpoint == nullptr) {
      console.line("no checkpoint was saved yet: starts again from step 0");
      run.forget_checkpoints();
    }
    set_aside(run, trainer.step(), console);
    for (const char* log : {"metrics.jsonl", "timing.jsonl", kDigests}) {
      const std::string moved = run.cut_back(log, trainer.step(), !trainer.owes_validation());
      if (moved.empty()) continue;
      console.line(moved);
      run.folder().append("log.txt", moved);
    }
    return run;
  };
  return run_session(config, checkpoint, run.checkpoints().path(), options, cut_back);
}

Outcome resume_run(const std::string& path, const std::vector<std::string>& overrides,
                   const std::vector<std::string>& allow_change, SessionOptions options) {
  // Locks the directory first, so that its newest checkpoint stays the newest.
  std::optional<RunDirectory> run;
  if (fs::is_directory(status_of(path))) run.emplace(RunDirectory::open(path));
  std::optional<FoundRun> source;  // absent if the run ended before its first save
  if (run && list_checkpoints(run->checkpoints()).empty()) {
    check_not_lost(*run);
  } else {
    source = find_run(path, {}, Take::resumed);
    check<IoError>(!source->directory.empty(), source->file,
                   " is not in a run directory, so there is no run to resume");
    if (!run && is_newest(*source)) {
      run.emplace(RunDirectory::open(source->directory));
      if (!is_newest(*source)) run.reset();  // another process has continued the run
    }
  }

  const Folder folder(source ? source->directory : run->path());
  const std::string file = folder.path_of("config.toml");
  const std::string text = folder.read("config.toml", detail::kMostConfigBytes);
  Config config = parse_config(text, file, overrides, ConfigWriter::xgrad);
  follow_own_data(config, folder.path(), overrides);
  // A change that was allowed once is part of the run's config, even if no checkpoint holds it yet.
  const bool own = !source || (run && run->config_was_replaced());
  Config before = own ? parse_config(text, file, {}, ConfigWriter::xgrad) : source->config;
  follow_own_data(before, folder.path());
  check_changes(before, own ? file : source->file, config, allow_change);
  options.keep_config = !differences(before, config).empty();
  const bool elsewhere =
      std::ranges::any_of(overrides, [](auto& given) { return given.starts_with("run.dir="); });
  check<ConfigError>(!run || !elsewhere, run ? run->path() : "",
                     ": run.dir cannot change when a run continues; give one of its older "
                     "checkpoints to resume that in another directory");
  if (!run && !elsewhere) config.run_dir.clear();  // never the directory of the original run
  if (run) return continue_run(config, *run, source ? &source->checkpoint : nullptr, options);
  // Named after the old run, unless run.dir says otherwise. Nothing is overwritten.
  const auto whole = fs::absolute(fs::path(source->directory) / "").lexically_normal();
  const std::string stem = whole.parent_path().filename().string();
  if (config.run_dir.empty()) detail::check_named_after(source->directory, "runs/" + stem);
  if (!config.train.keep_best) return start(config, stem, &source->checkpoint, options);
  const Checkpoint best = best_of(*source, config.train);
  return start(config, stem, &source->checkpoint, options, &best);
}

}  // namespace xgrad

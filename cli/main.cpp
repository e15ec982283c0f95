// The `xgrad` command: its subcommands, options and exit codes.

#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/kernels/cpu.hpp>
#include <xgrad/autograd/memory/out_of_memory.hpp>
#include <xgrad/autograd/nearest.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/cli/command.hpp>
#include <xgrad/cli/manual.hpp>
#include <xgrad/cli/outcome.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/train/config/rules.hpp>
#include <xgrad/train/run/results.hpp>
#include <xgrad/version.hpp>

namespace {

namespace commands = xgrad::commands;

// CLI11's own check prints the largest double when it refuses a number.
CLI::Validator positive() {
  const auto refuse = [](const std::string& text) {
    double number = 0;
    const bool good = CLI::detail::lexical_cast(text, number) && number > 0;
    return good ? std::string() : "is " + text + ", must be a number above 0";
  };
  return CLI::Validator(refuse, "POSITIVE");
}

// Adds an option for the path of a new file or directory, checked like run.dir.
CLI::Option* add_new(CLI::App* to, const char* name, std::string& path, const char* help) {
  return to->add_option(name, path, help)->check({xgrad::detail::flaw_of_new_path, ""});
}

struct Arguments {
  commands::TrainArguments train;
  commands::ResumeArguments resume;
  commands::CheckArguments check;
  commands::EvalArguments eval;
  commands::PredictArguments predict;
  commands::GradcheckArguments gradcheck;
  commands::SummaryArguments summary;
  commands::AttentionArguments attention;
  commands::ReportArguments report;
  commands::ProfileArguments profile;
  commands::LrFindArguments lr_find;
  commands::SweepArguments sweep;
  bool overfit_batch = false, dry_run = false;
  std::vector<std::string> runs;
  commands::InspectArguments inspect;
  commands::ExportArguments export_weights;
  commands::ImportArguments import_weights;
  commands::VerifyResumeArguments verify_resume;
  std::vector<std::string> files;
  std::string key, task, first, second, failed;
};

constexpr const char* kOverrides = "KEY=VALUE overrides the config, as in optim.lr=3e-4";
constexpr const char* kRun = "a run directory or a checkpoint";

void define_training(CLI::App& app, Arguments& a, int& code) {
  CLI::App* train =
      app.add_subcommand("train", "Train the model of a config in a new run directory");
  train->add_option("config", a.train.config, "a TOML file")->required();
  train->add_option("overrides", a.train.overrides, kOverrides);
  train->add_flag("-q,--quiet", a.train.quiet, "print only the results");
  train->add_flag("--json", a.train.json, "print the results as one JSON object");
  CLI::Option* overfit = train->add_flag("--overfit-batch", a.overfit_batch,
                                         "only memorise one batch as a check; leaves no files");
  train->add_flag("--dry-run", a.dry_run, "only two steps, an evaluation, a save; leaves no files")
      ->excludes(overfit);
  train->callback([&] {
    code = a.overfit_batch ? commands::overfit_batch(a.train)
           : a.dry_run     ? commands::dry_run(a.train)
                           : commands::train(a.train);
  });

  CLI::App* resume =
      app.add_subcommand("resume", "Continue a run, bit for bit as if it had never stopped");
  resume->add_option("run", a.resume.run, kRun)->required();
  resume->add_option("overrides", a.resume.overrides, kOverrides);
  resume
      ->add_option("--allow-change", a.resume.allow_change,
                   "a key that may change; may be repeated")
      ->type_name("KEY")
      ->allow_extra_args(false);
  resume->add_flag("-q,--quiet", a.resume.quiet, "print only the results");
  resume->add_flag("--json", a.resume.json, "print the results as one JSON object");
  resume->callback([&] { code = commands::resume(a.resume); });

  CLI::App* check = app.add_subcommand("check", "Train configs and check their [expect] claims");
  check->add_option("configs", a.check.configs, "TOML files")->required();
  check->add_option("--seeds", a.check.seeds, "train each with this many seeds; show the means")
      ->check(CLI::Range(std::size_t(1), xgrad::kMostSeeds));
  add_new(check, "--table", a.check.table, "write results to this file, as a Markdown table");
  check->add_flag("-q,--quiet", a.check.quiet, "print only the results");
  check->callback([&] { code = commands::check(a.check); });

  CLI::App* gradcheck =
      app.add_subcommand("gradcheck", "Check a model's gradients by finite differences");
  gradcheck->add_option("config", a.gradcheck.config, "a TOML file")->required();
  gradcheck->add_option("overrides", a.gradcheck.overrides, kOverrides);
  gradcheck->callback([&] { code = commands::gradcheck(a.gradcheck); });
}

void define_study(CLI::App& app, Arguments& a, int& code) {
  CLI::App* summary = app.add_subcommand("summary", "Show a model's modules, shapes and cost");
  summary->add_option("config", a.summary.config, "a TOML file")->required();
  summary->add_option("overrides", a.summary.overrides, kOverrides);
  summary->callback([&] { code = commands::summary(a.summary); });

  CLI::App* attention =
      app.add_subcommand("attention", "Show what each head attends to and how much it matters");
  attention->add_option("run", a.attention.run, kRun)->required();
  attention->add_option("--examples", a.attention.examples, "maximum number of test examples")
      ->check(positive())
      ->capture_default_str();
  add_new(attention, "--out", a.attention.out, "new HDF5 file for attention maps and metrics");
  attention->add_option("--maps", a.attention.maps, "number of examples with maps in --out")
      ->check(positive())
      ->capture_default_str()
      ->needs("--out");
  attention->add_option("--text", a.attention.text, "draw the maps of this input instead")
      ->excludes("--examples", "--out");
  attention->callback([&] { code = commands::attention(a.attention); });

  CLI::App* report = app.add_subcommand("report", "Write an HTML report of one or several runs");
  report->add_option("runs", a.report.runs, "run directories")->required();
  add_new(report, "--out", a.report.out, "the HTML file; default for one run: its report.html");
  report->add_flag("--heads", a.report.heads,
                   "also show what each head attends to and how much it matters");
  report->callback([&] { code = commands::write_report(a.report); });
}

void define_search(CLI::App& app, Arguments& a, int& code) {
  CLI::App* profile = app.add_subcommand("profile", "Show where the time of a training step goes");
  profile->add_option("config", a.profile.config, "a TOML file")->required();
  profile->add_option("overrides", a.profile.overrides, kOverrides);
  profile->add_option("--steps", a.profile.steps, "number of steps to measure")
      ->check(positive())
      ->capture_default_str();
  add_new(profile, "--trace", a.profile.trace, "new file for a Chrome trace of one step");
  profile->callback([&] { code = commands::profile(a.profile); });

  CLI::App* lr_find =
      app.add_subcommand("lr-find", "Suggest a learning rate from a short test run");
  lr_find->add_option("config", a.lr_find.config, "a TOML file")->required();
  lr_find->add_option("overrides", a.lr_find.overrides, kOverrides);
  lr_find->add_option("--from", a.lr_find.from, "the lowest learning rate")
      ->check(positive())
      ->capture_default_str();
  lr_find->add_option("--to", a.lr_find.to, "the highest learning rate")
      ->check(positive())
      ->capture_default_str();
  lr_find->add_option("--steps", a.lr_find.steps, "number of steps from --from to --to")
      ->check(CLI::Range(20, 1000000))
      ->capture_default_str();
  lr_find->callback([&] { code = commands::lr_find(a.lr_find); });

  CLI::App* sweep = app.add_subcommand("sweep", "Train a config with many combinations of values");
  sweep->add_option("config", a.sweep.config, "a TOML file")->required();
  sweep->add_option("overrides", a.sweep.overrides, kOverrides);
  sweep
      ->add_option("--over", a.sweep.over,
                   "KEY=[VALUES], as in optim.lr=[1e-3, 3e-4]; may be repeated")
      ->required()
      ->allow_extra_args(false);
  sweep->add_option("--random", a.sweep.random, "train this many combinations, drawn at random")
      ->check(positive());
  sweep->add_flag("--halving", a.sweep.halving,
                  "short runs of all first, then longer ones of the better half, and so on");
  sweep->add_option("--jobs", a.sweep.jobs, "number of parallel runs; default: one per core")
      ->check(positive());
  add_new(sweep, "--out", a.sweep.out,
          "directory of the runs; default: runs/sweep-NAME for NAME.toml");
  sweep->callback([&] { code = commands::sweep(a.sweep); });

  CLI::App* compare = app.add_subcommand("compare", "Show how configs and results of runs differ");
  compare->add_option("runs", a.runs, "run directories")->required();
  compare->callback([&] { code = commands::compare(a.runs); });
}

// Collects names, help and options of all commands.
std::vector<commands::CommandHelp> manual_of(const CLI::App& app) {
  std::vector<commands::CommandHelp> manual;
  for (const CLI::App* command : app.get_subcommands({})) {
    commands::CommandHelp& help = manual.emplace_back(
        commands::CommandHelp{command->get_name(), command->get_description(), {}});
    for (const CLI::Option* option : command->get_options({})) {
      commands::OptionHelp& entry = help.options.emplace_back();
      entry.help = option->get_description();
      entry.positional = option->get_positional();
      entry.takes_value = option->get_expected_max() > 0;
      if (entry.positional) entry.names = {option->get_name()};
      for (const std::string& name : option->get_snames()) entry.names.push_back("-" + name);
      for (const std::string& name : option->get_lnames()) entry.names.push_back("--" + name);
      const std::string type = option->get_type_name();  // TEXT:{train,validation,test}
      const std::size_t open = type.find('{'), close = type.find('}');
      if (open == type.npos || close == type.npos) continue;
      entry.choices = CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
    }
  }
  return manual;
}

void define_manual(CLI::App& app, Arguments& a, int& code) {
  CLI::App* completion = app.add_subcommand("completion", "Print the completion script of a shell");
  completion->add_option("shell", a.key, "the shell")->required()->check(CLI::IsMember({"bash"}));
  completion->callback([&] {
    std::fputs(commands::bash_completion(manual_of(app)).c_str(), stdout);
    code = 0;
  });
  app.add_subcommand("man", "Print the manual page")->callback([&] {
    std::fputs(commands::man_page(manual_of(app)).c_str(), stdout);
    code = 0;
  });
}

void define_use(CLI::App& app, Arguments& a, int& code) {
  CLI::App* eval = app.add_subcommand("eval", "Evaluate a trained model on a data split");
  eval->add_option("run", a.eval.run, kRun)->required();
  eval->add_option("overrides", a.eval.overrides,
                   "KEY=VALUE overrides the config, as in task.test=other.csv for other data");
  eval->add_option("--split", a.eval.split, "the split to evaluate")
      ->check(CLI::IsMember({"train", "validation", "test"}))
      ->capture_default_str();
  eval->add_flag("--json", a.eval.json, "print the results as one JSON object");
  eval->callback([&] { code = commands::eval(a.eval); });

  CLI::App* predict = app.add_subcommand("predict", "Predict from each line of standard input");
  predict->add_option("run", a.predict.run, kRun)->required();
  CLI::Option* format = predict->add_option("--format", a.predict.format, "the output format")
                            ->check(CLI::IsMember(commands::prediction_formats()))
                            ->capture_default_str();
  predict->add_flag("--logits", a.predict.logits, "print logits instead of labels")
      ->excludes(format);
  predict->callback([&] { code = commands::predict(a.predict); });

  CLI::App* inspect = app.add_subcommand("inspect", "Show what a checkpoint holds");
  inspect->add_option("run", a.inspect.run, kRun)->required();
  inspect->add_flag("--config", a.inspect.config, "print only its config");
  inspect->callback([&] { code = commands::inspect(a.inspect); });

  CLI::App* export_weights =
      app.add_subcommand("export", "Export the weights to a new file for other programs");
  export_weights->add_option("run", a.export_weights.run, kRun)->required();
  export_weights->add_option("--to", a.export_weights.to, "the file format")
      ->required()
      ->check(CLI::IsMember(commands::export_formats()));
  add_new(export_weights, "--out", a.export_weights.out, "the new file")->required();
  export_weights
      ->add_option("--naming", a.export_weights.naming,
                   "library whose tensor names to use; all but torch need --to safetensors")
      ->check(CLI::IsMember(commands::export_namings()))
      ->capture_default_str();
  export_weights->add_flag(
      "--raw", a.export_weights.raw,
      "with train.ema: the weights of the last step, not their moving average");
  export_weights->callback([&] { code = commands::export_weights(a.export_weights); });

  CLI::App* import_weights =
      app.add_subcommand("import", "Make a checkpoint from a weight file of another program");
  import_weights->add_option("file", a.import_weights.file, "the weight file")->required();
  import_weights->add_option("overrides", a.import_weights.overrides, kOverrides);
  import_weights->add_option("--from", a.import_weights.from, "the file format")
      ->required()
      ->check(CLI::IsMember(commands::import_formats()));
  import_weights
      ->add_option("--config", a.import_weights.config, "a TOML file whose model has these weights")
      ->required();
  add_new(import_weights, "--out", a.import_weights.out, "the new checkpoint")->required();
  import_weights->callback([&] { code = commands::import_weights(a.import_weights); });

  CLI::App* verify = app.add_subcommand("verify", "Check checkpoints for damage");
  verify->add_option("files", a.files, "checkpoints")->required();
  verify->callback([&] { code = commands::verify(a.files); });
}

void define_proofs(CLI::App& app, Arguments& a, int& code) {
  CLI::App* resume =
      app.add_subcommand("verify-resume", "Prove that a run resumes bit for bit after kill -9");
  resume->add_option("config", a.verify_resume.config, "a TOML file")->required();
  resume->add_option("overrides", a.verify_resume.overrides, kOverrides);
  resume->add_option("--at", a.verify_resume.at,
                     "the step after which to kill the run; default: half of its steps");
  resume->add_flag("-q,--quiet", a.verify_resume.quiet, "print only the results");
  resume->callback([&] { code = commands::verify_resume(a.verify_resume); });

  CLI::App* diff = app.add_subcommand("diff", "Show what differs in two runs or checkpoints");
  diff->add_option("first", a.first, kRun)->required();
  diff->add_option("second", a.second, kRun)->required();
  diff->callback([&] { code = commands::diff(a.first, a.second); });

  CLI::App* replay = app.add_subcommand(
      "replay", "Rerun a failed step op by op and compare with higher precision");
  replay->add_option("file", a.failed, "a failed step, fault-*.h5 in a run directory")->required();
  replay->callback([&] { code = commands::replay(a.failed); });
}

void define_catalogue(CLI::App& app, Arguments& a, int& code) {
  CLI::App* config = app.add_subcommand("config", "Explain the keys of a config");
  config->add_option("key", a.key, "a key or section, such as optim.lr or train; default: all");
  config->callback([&] { code = commands::config(a.key); });

  CLI::App* tasks = app.add_subcommand("tasks", "List the tasks, or describe one");
  tasks->add_option("task", a.task, "name of a task; default: list all");
  tasks->callback([&] { code = commands::tasks(a.task); });

  app.add_subcommand("info", "Show version and machine")->callback([&] {
    code = commands::info();
  });
}

// Suggests the nearest command; CLI11 would only say that a subcommand is required.
void require_known_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), argv[1]) != names.end()) return;
  const std::string meant = xgrad::nearest(argv[1], names);
  xgrad::detail::fail<xgrad::ConfigError>("there is no command '", xgrad::clipped(argv[1]), "'",
                                          meant.empty() ? "" : "; did you mean '" + meant + "'?",
                                          " (`xgrad --help` lists them)");
}

int run(int argc, char** argv) {
  CLI::App app("Trains transformer encoders from one config file.", "xgrad");
  app.set_version_flag("--version", xgrad::kVersion);
  app.require_subcommand(1);
  app.parse_complete_callback([] { xgrad::cpu(); });  // refuses a wrong XGRAD_CPU early
  Arguments arguments;
  int code = 0;
  define_training(app, arguments, code);
  define_study(app, arguments, code);
  define_search(app, arguments, code);
  define_use(app, arguments, code);
  define_proofs(app, arguments, code);
  define_catalogue(app, arguments, code);
  define_manual(app, arguments, code);
  require_known_command(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (const std::string shortage = xgrad::thread_shortage(); !shortage.empty()) {
    std::fprintf(stderr, "xgrad: warning: ran on %s\n", shortage.c_str());
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw xgrad::IoError(std::string("cannot write to standard output: ") + std::strerror(errno));
  }
  return code;
}

// If a standard stream is closed, the next opened file would get its descriptor, and output would
// be written into that file. So opens /dev/null in its place, in the wrong direction: reading and
// writing still fail with the same errors.
void hold_closed_streams() {
  for (const int stream : {0, 1, 2}) {
    if (::fcntl(stream, F_GETFD) == -1) ::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  hold_closed_streams();
  // A closed pipe or a file size limit should make the write fail, as a full disk does.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  try {
    return run(argc, argv);
  } catch (const xgrad::OutOfMemory& error) {
    std::fprintf(stderr, "xgrad: out of memory: %s\n", error.what());
    return 8;
  } catch (const std::bad_alloc&) {
    std::fputs("xgrad: out of memory\n", stderr);
    return 8;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "xgrad: %s\n", error.what());
    return commands::exit_code(error);
  }
}

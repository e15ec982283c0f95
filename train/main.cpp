// The `xgrad` command: its words, its exit codes.

#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/cpu.hpp>
#include <xgrad/autograd/nearest.hpp>
#include <xgrad/autograd/out_of_memory.hpp>
#include <xgrad/autograd/parallel.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/train/commands.hpp>
#include <xgrad/train/commands/manual.hpp>
#include <xgrad/train/results.hpp>
#include <xgrad/version.hpp>

namespace {

namespace commands = xgrad::commands;

// Which exit code an error has; documented in the README.
int exit_code(const std::exception& error) {
  if (dynamic_cast<const xgrad::ConfigError*>(&error)) return 2;
  if (dynamic_cast<const xgrad::DataError*>(&error)) return 3;
  if (dynamic_cast<const xgrad::CheckpointError*>(&error)) return 4;
  if (dynamic_cast<const xgrad::NumericError*>(&error)) return 5;
  if (dynamic_cast<const xgrad::IoError*>(&error)) return 6;
  if (dynamic_cast<const std::system_error*>(&error)) return 6;  // printing to a full disk, say
  if (dynamic_cast<const xgrad::LockError*>(&error)) return 7;
  if (dynamic_cast<const std::bad_alloc*>(&error)) return 8;
  return 1;
}

// CLI11's own names the largest double when it refuses a number.
CLI::Validator positive() {
  const auto refuse = [](const std::string& text) {
    double number = 0;
    const bool good = CLI::detail::lexical_cast(text, number) && number > 0;
    return good ? std::string() : "is " + text + ", must be a number above 0";
  };
  return CLI::Validator(refuse, "POSITIVE");
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

constexpr const char* kOverrides = "KEY=VALUE in the config's own grammar, as optim.lr=3e-4";
constexpr const char* kRun = "a run directory or a checkpoint";

void define_training(CLI::App& app, Arguments& a, int& code) {
  CLI::App* train =
      app.add_subcommand("train", "Train the model of a config in a new run directory");
  train->add_option("config", a.train.config, "a TOML file")->required();
  train->add_option("overrides", a.train.overrides, kOverrides);
  train->add_flag("-q,--quiet", a.train.quiet, "show results only");
  train->add_flag("--json", a.train.json, "results as one JSON object");
  CLI::Option* overfit = train->add_flag("--overfit-batch", a.overfit_batch,
                                         "only learn one batch by heart; leaves nothing");
  train->add_flag("--dry-run", a.dry_run, "only two steps, an evaluation, a save; leaves nothing")
      ->excludes(overfit);
  train->callback([&] {
    code = a.overfit_batch ? commands::overfit_batch(a.train)
           : a.dry_run     ? commands::dry_run(a.train)
                           : commands::train(a.train);
  });

  CLI::App* resume =
      app.add_subcommand("resume", "Go on with a run, to the bit as if it had not stopped");
  resume->add_option("run", a.resume.run, kRun)->required();
  resume->add_option("overrides", a.resume.overrides, kOverrides);
  resume
      ->add_option("--allow-change", a.resume.allow_change, "a key that may differ from the run's")
      ->type_name("KEY")
      ->allow_extra_args(false);
  resume->add_flag("-q,--quiet", a.resume.quiet, "show results only");
  resume->add_flag("--json", a.resume.json, "results as one JSON object");
  resume->callback([&] { code = commands::resume(a.resume); });

  CLI::App* check = app.add_subcommand("check", "Train configs and judge each by its [expect]");
  check->add_option("configs", a.check.configs, "TOML files")->required();
  check->add_option("--seeds", a.check.seeds, "train each with so many seeds, and show the mean")
      ->check(CLI::Range(std::size_t(1), xgrad::kMostSeeds));
  check->add_option("--table", a.check.table, "a file for the results, as a Markdown table");
  check->add_flag("-q,--quiet", a.check.quiet, "show results only");
  check->callback([&] { code = commands::check(a.check); });

  CLI::App* gradcheck = app.add_subcommand("gradcheck", "Prove the gradients of a config's model");
  gradcheck->add_option("config", a.gradcheck.config, "a TOML file")->required();
  gradcheck->add_option("overrides", a.gradcheck.overrides, kOverrides);
  gradcheck->callback([&] { code = commands::gradcheck(a.gradcheck); });
}

void define_study(CLI::App& app, Arguments& a, int& code) {
  CLI::App* summary = app.add_subcommand("summary", "What a config's model holds and costs");
  summary->add_option("config", a.summary.config, "a TOML file")->required();
  summary->add_option("overrides", a.summary.overrides, kOverrides);
  summary->callback([&] { code = commands::summary(a.summary); });

  CLI::App* attention =
      app.add_subcommand("attention", "What each head attends to, and is good for");
  attention->add_option("run", a.attention.run, kRun)->required();
  attention->add_option("--examples", a.attention.examples, "of the test split, at most")
      ->check(positive())
      ->capture_default_str();
  attention->add_option("--out", a.attention.out,
                        "an HDF5 file for maps and figures, which must not exist");
  attention->add_option("--maps", a.attention.maps, "examples whose maps go there")
      ->check(positive())
      ->capture_default_str()
      ->needs("--out");
  attention->add_option("--text", a.attention.text, "draw the maps of this input instead")
      ->excludes("--examples", "--out");
  attention->callback([&] { code = commands::attention(a.attention); });

  CLI::App* report = app.add_subcommand("report", "A page of a run, or of several side by side");
  report->add_option("runs", a.report.runs, "run directories")->required();
  report->add_option("--out", a.report.out, "the page; for one run, its report.html unless given");
  report->add_flag("--heads", a.report.heads,
                   "also what each head does, and what is lost without it");
  report->callback([&] { code = commands::write_report(a.report); });
}

void define_search(CLI::App& app, Arguments& a, int& code) {
  CLI::App* profile = app.add_subcommand("profile", "Where the time of a training step goes");
  profile->add_option("config", a.profile.config, "a TOML file")->required();
  profile->add_option("overrides", a.profile.overrides, kOverrides);
  profile->add_option("--steps", a.profile.steps, "steps to measure")
      ->check(positive())
      ->capture_default_str();
  profile->add_option("--trace", a.profile.trace,
                      "a file for one step as a Chrome trace, which must not exist");
  profile->callback([&] { code = commands::profile(a.profile); });

  CLI::App* lr_find = app.add_subcommand("lr-find", "Find a learning rate");
  lr_find->add_option("config", a.lr_find.config, "a TOML file")->required();
  lr_find->add_option("overrides", a.lr_find.overrides, kOverrides);
  lr_find->add_option("--from", a.lr_find.from, "the first learning rate")
      ->check(positive())
      ->capture_default_str();
  lr_find->add_option("--to", a.lr_find.to, "the last one")
      ->check(positive())
      ->capture_default_str();
  lr_find->add_option("--steps", a.lr_find.steps, "steps from one to the other")
      ->check(CLI::Range(20, 1000000))
      ->capture_default_str();
  lr_find->callback([&] { code = commands::lr_find(a.lr_find); });

  CLI::App* sweep = app.add_subcommand("sweep", "Train a config with many combinations of values");
  sweep->add_option("config", a.sweep.config, "a TOML file")->required();
  sweep->add_option("overrides", a.sweep.overrides, kOverrides);
  sweep
      ->add_option("--over", a.sweep.over,
                   "KEY=[VALUES], as optim.lr=[1e-3, 3e-4]; may be repeated")
      ->required()
      ->allow_extra_args(false);
  sweep->add_option("--random", a.sweep.random, "only so many combinations, drawn at random")
      ->check(positive());
  sweep->add_flag("--halving", a.sweep.halving, "short runs first; the better half goes on");
  sweep->add_option("--jobs", a.sweep.jobs, "runs at once; as many as cores unless given")
      ->check(positive());
  sweep->add_option("--out", a.sweep.out,
                    "the directory of the runs; runs/sweep-NAME unless given");
  sweep->callback([&] { code = commands::sweep(a.sweep); });

  CLI::App* compare = app.add_subcommand("compare", "Where runs differ, and how they ended");
  compare->add_option("runs", a.runs, "run directories")->required();
  compare->callback([&] { code = commands::compare(a.runs); });
}

// What the definitions of commands say.
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
  CLI::App* completion =
      app.add_subcommand("completion", "Print what a shell needs to complete words");
  completion->add_option("shell", a.key, "bash")->required()->check(CLI::IsMember({"bash"}));
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
  CLI::App* eval = app.add_subcommand("eval", "Loss and accuracy of a trained model");
  eval->add_option("run", a.eval.run, kRun)->required();
  eval->add_option("overrides", a.eval.overrides,
                   "KEY=VALUE in the config's own grammar, as task.test=other.csv for other data");
  eval->add_option("--split", a.eval.split, "of the data")
      ->check(CLI::IsMember({"train", "validation", "test"}))
      ->capture_default_str();
  eval->add_flag("--json", a.eval.json, "results as one JSON object");
  eval->callback([&] { code = commands::eval(a.eval); });

  CLI::App* predict = app.add_subcommand("predict", "Label each line of standard input");
  predict->add_option("run", a.predict.run, kRun)->required();
  CLI::Option* format = predict->add_option("--format", a.predict.format, "of the answers")
                            ->check(CLI::IsMember(commands::prediction_formats()))
                            ->capture_default_str();
  predict->add_flag("--logits", a.predict.logits, "print logits instead of labels")
      ->excludes(format);
  predict->callback([&] { code = commands::predict(a.predict); });

  CLI::App* inspect = app.add_subcommand("inspect", "What a checkpoint holds");
  inspect->add_option("run", a.inspect.run, kRun)->required();
  inspect->add_flag("--config", a.inspect.config, "print its config instead");
  inspect->callback([&] { code = commands::inspect(a.inspect); });

  CLI::App* export_weights =
      app.add_subcommand("export", "Write the weights for other programs, as a new file");
  export_weights->add_option("run", a.export_weights.run, kRun)->required();
  export_weights->add_option("--to", a.export_weights.to, "the format")
      ->required()
      ->check(CLI::IsMember(commands::export_formats()));
  export_weights->add_option("--out", a.export_weights.out, "the file, which must not exist")
      ->required();
  export_weights->add_option("--naming", a.export_weights.naming, "whose names the tensors have")
      ->check(CLI::IsMember(commands::export_namings()))
      ->capture_default_str();
  export_weights->add_flag("--raw", a.export_weights.raw,
                           "the last step's weights, where the run keeps their mean (train.ema)");
  export_weights->callback([&] { code = commands::export_weights(a.export_weights); });

  CLI::App* import_weights =
      app.add_subcommand("import", "Make a checkpoint of the weights in a file of another program");
  import_weights->add_option("file", a.import_weights.file, "what they are read from")->required();
  import_weights->add_option("overrides", a.import_weights.overrides, kOverrides);
  import_weights->add_option("--from", a.import_weights.from, "the format")
      ->required()
      ->check(CLI::IsMember(commands::import_formats()));
  import_weights
      ->add_option("--config", a.import_weights.config, "a TOML file, whose model they fit")
      ->required();
  import_weights->add_option("--out", a.import_weights.out, "the checkpoint, which must not exist")
      ->required();
  import_weights->callback([&] { code = commands::import_weights(a.import_weights); });

  CLI::App* verify = app.add_subcommand("verify", "Whether checkpoints are whole");
  verify->add_option("files", a.files, "checkpoints")->required();
  verify->callback([&] { code = commands::verify(a.files); });
}

void define_proofs(CLI::App& app, Arguments& a, int& code) {
  CLI::App* resume = app.add_subcommand(
      "verify-resume", "Prove that a config's run goes on to the bit after kill -9");
  resume->add_option("config", a.verify_resume.config, "a TOML file")->required();
  resume->add_option("overrides", a.verify_resume.overrides, kOverrides);
  resume->add_option("--at", a.verify_resume.at,
                     "the step to be killed after; else half of the run");
  resume->add_flag("-q,--quiet", a.verify_resume.quiet, "show results only");
  resume->callback([&] { code = commands::verify_resume(a.verify_resume); });

  CLI::App* diff = app.add_subcommand("diff", "What differs between two runs or checkpoints");
  diff->add_option("first", a.first, kRun)->required();
  diff->add_option("second", a.second, kRun)->required();
  diff->callback([&] { code = commands::diff(a.first, a.second); });

  CLI::App* replay =
      app.add_subcommand("replay", "Run a failed step op by op, beside more precision");
  replay->add_option("file", a.failed, "fault-*.h5 in a run directory")->required();
  replay->callback([&] { code = commands::replay(a.failed); });
}

void define_catalogue(CLI::App& app, Arguments& a, int& code) {
  CLI::App* config = app.add_subcommand("config", "Explain the keys of a config");
  config->add_option("key", a.key, "a key or a section");
  config->callback([&] { code = commands::config(a.key); });

  CLI::App* tasks = app.add_subcommand("tasks", "List the tasks, or explain one");
  tasks->add_option("task", a.task, "its name");
  tasks->callback([&] { code = commands::tasks(a.task); });

  app.add_subcommand("info", "Version and machine")->callback([&] { code = commands::info(); });
}

// CLI11 would only say that a subcommand is required.
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
  CLI::App app("Trains transformer encoders on sequence tasks from one config file.", "xgrad");
  app.set_version_flag("--version", xgrad::kVersion);
  app.require_subcommand(1);
  app.parse_complete_callback([] { xgrad::cpu(); });  // refuses a wrong XGRAD_CPU before all work
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

// The number of a closed standard stream would go to the next file that is opened, and what is
// printed into that. Standing for it, /dev/null opened the wrong way round gives the same errors.
void hold_closed_streams() {
  for (const int stream : {0, 1, 2}) {
    if (::fcntl(stream, F_GETFD) == -1) ::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  hold_closed_streams();
  // A reader that is gone and a limit on sizes are errors of the write, as a full disk is.
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
    return exit_code(error);
  }
}

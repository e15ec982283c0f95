// The subcommands of `xgrad`, and the parts that they share. Each subcommand has one function, such
// as train_command(), which returns its name, its help, its options and the function to run. The
// parser, the manual page and the completion are made from these.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <xgrad/train/checkpoint/checkpoint.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

struct Metrics;
struct Outcome;

namespace commands {

/// Rules for an option: which values it may have, and which other options it needs or excludes.
struct Rules {
  bool required = false;
  bool positive = false;  ///< the number must be finite and above 0
  bool new_path = false;  ///< path of a new file or directory, see flaw_of_new_path()
  std::optional<std::pair<std::size_t, std::size_t>> range = {};  ///< least and largest value
  std::vector<std::string> choices = {};                          ///< allowed values; empty: any
  /// Options that must be given with this option (needs), or must not be given with it (excludes).
  /// Command::options must list them before this option.
  std::vector<std::string> needs = {}, excludes = {};
  std::string value = {};  ///< what --help calls the value; empty: its type
};
inline const Rules kRequired{.required = true}, kPositive{.positive = true},
    kNewPath{.new_path = true};

struct Option {
  std::string names;  ///< "-q,--quiet", or "run" for a positional argument
  std::string help;
  /// The variable that the parser sets; a bool makes the option a flag. The variable's initial
  /// value is the default of the option. --help shows this default unless it is empty or 0.
  std::variant<bool*, std::string*, std::optional<std::string>*, std::vector<std::string>*,
               std::size_t*, double*>
      target;
  Rules rules = {};

  bool positional() const { return names[0] != '-'; }
};

struct Command {
  std::string name, help;
  std::vector<Option> options;
  std::function<int()> run;   ///< returns the exit code; owns the variables of Option::target
  bool on_all_ranks = false;  ///< whether all ranks take part; else rank 0 runs it alone
  std::string heading = {};   ///< heading above the command in `xgrad --help`
};

/// The arguments of a command that reads a config.
struct ConfigArguments {
  std::string config;
  std::vector<std::string> overrides;

  Config load() const;  ///< loads the config, and lets this process use train.threads threads
};

/// The argument of a command that loads a checkpoint of a run: which checkpoint to load.
struct TakeArguments {
  bool last = false;
  Take take() const { return last ? Take::last : Take::model; }
};
/// The option --last, which sets `a.last`.
inline Option last_option(TakeArguments& a) {
  return {"--last", "take the last checkpoint of a run, not the best", &a.last};
}

/// The arguments of a command that loads the model of a run.
struct RunArguments : TakeArguments {
  std::string run;
  FoundRun find() const { return find_run(run, {}, take()); }
};

/// The arguments of a command that loads the model of one run, or the models of several runs.
struct EnsembleArguments : TakeArguments {
  std::vector<std::string> runs;
};

// Help of options that several commands have.
inline constexpr const char* kConfig = "a TOML file";
inline constexpr const char* kOverrides = "KEY=VALUE overrides the config, as in optim.lr=3e-4";
inline constexpr const char* kRun = "a run directory or a checkpoint";
inline constexpr const char* kRuns =
    "run directories or checkpoints; several form an ensemble, which averages their probabilities";
inline constexpr const char* kQuiet = "print only the results";
inline constexpr const char* kJson = "print the results as one JSON object";

/// Prints a message to standard error, with spaces for control characters other than line feeds.
void print_error(const std::string& message);

/// If there are several ranks, says that only one of them runs `command` and the others wait.
void tell_others_wait(const std::string& command);

/// Prints the best step if it is not the last, the test metrics, state_hash(), the scores of the
/// task's rules and the verdicts on claims; with `json`, only the metrics. Returns 0. If signal n
/// stopped the run, prints nothing and returns 128 + n.
int report(const Outcome& outcome, bool json);

/// The metrics in one line, as "loss 0.0213 ± 0.0004, accuracy 0.9934 ± 0.0002".
std::string summary(const Metrics& metrics);

/// A sentence like "3 of 120 tokens are not in the vocabulary and were read as <unk>".
std::string unknown_text(std::size_t unknown, std::size_t tokens);

std::vector<Command> all_commands();  ///< all commands, in the order of `xgrad --help`

Command train_command(), resume_command(), check_command(), lr_find_command();
Command sweep_command(), compare_command();
Command summary_command(), attention_command(), patch_command(), report_command();
Command explain_command();
Command profile_command();
Command eval_command(), inspect_command(), config_command(), tasks_command(), info_command();
Command gradcheck_command(), verify_command(), verify_resume_command(), diff_command();
Command replay_command(), predict_command(), generate_command();
Command export_command(), import_command(), construct_command();
Command completion_command(), man_command();

}  // namespace commands

}  // namespace xgrad

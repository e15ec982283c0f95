// The subcommands of `xgrad`: one function each, in a file of its own. Each returns the exit code
// and throws what main() turns into one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace xgrad::commands {

struct TrainArguments {
  std::string config;
  std::vector<std::string> overrides;
  bool quiet = false;
  bool json = false;
};
int train(const TrainArguments& arguments);
/// Trains on the first batch alone, without dropout, smoothing and decay; 1 unless the loss falls
/// below 0.001.
int overfit_batch(const TrainArguments& arguments);
/// Two steps, an evaluation, a checkpoint written and read back; leaves nothing.
int dry_run(const TrainArguments& arguments);

struct LrFindArguments {
  std::string config;
  std::vector<std::string> overrides;
  double from = 1e-6, to = 1;
  std::size_t steps = 150;
};
/// Draws the training loss over a learning rate that grows from step to step (Smith 2017).
int lr_find(const LrFindArguments& arguments);

struct SweepArguments {
  std::string config;
  std::vector<std::string> overrides;
  std::vector<std::string> over;  ///< "optim.lr=[1e-3, 3e-4]"
  std::size_t random = 0;         ///< so many points of the grid; 0: all
  bool halving = false;
  std::size_t jobs = 0;  ///< runs at once; 0: as many as cores
  std::string out;       ///< empty: runs/sweep-<stem of the config>
};
/// Trains a config with every combination of values; runs that are finished are not repeated.
int sweep(const SweepArguments& arguments);

/// Configs and figures of runs, where they differ.
int compare(const std::vector<std::string>& runs);

struct ResumeArguments {
  std::string run;  ///< a run directory or one of its checkpoints
  std::vector<std::string> overrides;
  std::vector<std::string> allow_change;
  bool quiet = false;
  bool json = false;
};
int resume(const ResumeArguments& arguments);

struct CheckArguments {
  std::vector<std::string> configs;
  std::size_t seeds = 1;  ///< train.seed and those after it
  std::string table;      ///< file for the results, as Markdown; empty: none
  bool quiet = false;
};
/// Trains each config and judges it by its [expect]; 1 when a claim fails. What ends one config
/// early does not keep the others from being trained; it is thrown at the end.
int check(const CheckArguments& arguments);

struct EvalArguments {
  std::string run;
  std::vector<std::string> overrides;  ///< other data, as task.test=FILE
  std::string split = "test";
  bool json = false;
};
int eval(const EvalArguments& arguments);

struct PredictArguments {
  std::string run;
  std::string format = "text";  ///< one of prediction_formats()
  bool logits = false;          ///< instead
};
std::vector<std::string> prediction_formats();
/// Labels each line of standard input, as soon as it is there.
int predict(const PredictArguments& arguments);

struct GradcheckArguments {
  std::string config;
  std::vector<std::string> overrides;
};
int gradcheck(const GradcheckArguments& arguments);

struct SummaryArguments {
  std::string config;
  std::vector<std::string> overrides;
};
/// The model's modules, with what they hold and what a step costs.
int summary(const SummaryArguments& arguments);

struct AttentionArguments {
  std::string run;
  std::size_t examples = 1000;      ///< of the test split, at most
  std::size_t maps = 16;            ///< examples whose maps go to the file
  std::string out;                  ///< an HDF5 file; empty: none
  std::optional<std::string> text;  ///< one input, whose maps are drawn instead
};
/// What each head looks at, and what the model is without it.
int attention(const AttentionArguments& arguments);

struct ReportArguments {
  std::vector<std::string> runs;
  std::string out;     ///< empty: report.html of the one run
  bool heads = false;  ///< a study of each head, too
};
/// Makes the page of one run anew, or one page of several.
int write_report(const ReportArguments& arguments);

struct ProfileArguments {
  std::string config;
  std::vector<std::string> overrides;
  std::size_t steps = 20;
  std::string trace;  ///< a file; empty: none
};
/// Where the time of a step goes.
int profile(const ProfileArguments& arguments);

struct InspectArguments {
  std::string run;
  bool config = false;
};
int inspect(const InspectArguments& arguments);

struct ExportArguments {
  std::string run;
  std::string to;  ///< one of export_formats()
  std::string out;
  std::string naming = "torch";  ///< one of export_namings()
  bool raw = false;              ///< the weights of the last step, where a run keeps their mean too
};
std::vector<std::string> export_formats();
std::vector<std::string> export_namings();
/// Writes the weights, for other programs, as a new file; for some formats with more files beside.
int export_weights(const ExportArguments& arguments);

struct ImportArguments {
  std::string file;
  std::string from;  ///< one of import_formats()
  std::string config;
  std::vector<std::string> overrides;
  std::string out;
};
std::vector<std::string> import_formats();
/// Makes a checkpoint of the weights in a file of another program, and of a config.
int import_weights(const ImportArguments& arguments);

struct VerifyResumeArguments {
  std::string config;
  std::vector<std::string> overrides;
  std::uint64_t at = 0;  ///< the step to be killed after; 0: half of the run
  bool quiet = false;
};
/// Trains a config undisturbed and again, killed on the way and resumed, and compares what is left;
/// 1 when it differs.
int verify_resume(const VerifyResumeArguments& arguments);

/// What differs between two checkpoints or runs; 1 when something does.
int diff(const std::string& first, const std::string& second);

/// Runs a failed step op by op beside the same in more precision; 1 when an op leaves its band.
int replay(const std::string& file);

/// Says of each file whether it is whole; the exit code is that of the first that is not.
int verify(const std::vector<std::string>& files);
int config(const std::string& key);
int tasks(const std::string& name);
int info();

}  // namespace xgrad::commands

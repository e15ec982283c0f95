// The subcommands of `xgrad`, one function each. Each returns its exit code; main() turns an
// exception into an exit code.
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
/// Trains on the first batch only, without dropout, label smoothing and weight decay. Returns 1
/// unless the loss falls below 0.001.
int overfit_batch(const TrainArguments& arguments);
/// Trains two steps, evaluates, writes a checkpoint and reads it back. Leaves no files behind.
int dry_run(const TrainArguments& arguments);

struct LrFindArguments {
  std::string config;
  std::vector<std::string> overrides;
  double from = 1e-6, to = 1;
  std::size_t steps = 150;
};
/// Plots the training loss while the learning rate grows from step to step (Smith 2017), and
/// suggests a learning rate.
int lr_find(const LrFindArguments& arguments);

struct SweepArguments {
  std::string config;
  std::vector<std::string> overrides;
  std::vector<std::string> over;  ///< keys with their values, as "optim.lr=[1e-3, 3e-4]"
  std::size_t random = 0;         ///< number of combinations drawn at random; 0: all
  bool halving = false;
  std::size_t jobs = 0;  ///< parallel runs; 0: one per core
  std::string out;       ///< directory of the runs; empty: runs/sweep-<stem of the config>
};
/// Trains a config with every combination of values. Does not repeat finished runs.
int sweep(const SweepArguments& arguments);

/// Shows how configs and results of runs differ.
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
  std::size_t seeds = 1;  ///< number of seeds, from train.seed upward
  std::string table;      ///< file for the results, as Markdown; empty: none
  bool quiet = false;
};
/// Trains each config and checks the claims in its [expect]. Returns 1 when a claim fails. An error
/// in one config does not stop the others; the first error is thrown at the end.
int check(const CheckArguments& arguments);

struct EvalArguments {
  std::string run;
  std::vector<std::string> overrides;  ///< for other data, as in task.test=FILE
  std::string split = "test";
  bool json = false;
};
int eval(const EvalArguments& arguments);

struct PredictArguments {
  std::string run;
  std::string format = "text";  ///< one of prediction_formats()
  bool logits = false;          ///< print logits instead of predictions
};
std::vector<std::string> prediction_formats();
/// Predicts from each line of standard input as soon as it arrives.
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
/// Shows the model's modules, their parameters and shapes, and the cost of a step.
int summary(const SummaryArguments& arguments);

struct AttentionArguments {
  std::string run;
  std::size_t examples = 1000;      ///< most examples of the test split to use
  std::size_t maps = 16;            ///< number of examples whose maps are written to `out`
  std::string out;                  ///< HDF5 file; empty: none
  std::optional<std::string> text;  ///< one input whose maps are drawn instead
};
/// Shows what each head attends to, and how the model performs without it.
int attention(const AttentionArguments& arguments);

struct ReportArguments {
  std::vector<std::string> runs;
  std::string out;     ///< HTML file; empty: report.html of the one run
  bool heads = false;  ///< adds what each head attends to and how much it matters
};
/// Writes an HTML report of one run or of several.
int write_report(const ReportArguments& arguments);

struct ProfileArguments {
  std::string config;
  std::vector<std::string> overrides;
  std::size_t steps = 20;
  std::string trace;  ///< file for a Chrome trace of one step; empty: none
};
/// Shows where the time of a training step goes.
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
  bool raw = false;              ///< export the last step's weights instead of their average
};
std::vector<std::string> export_formats();
std::vector<std::string> export_namings();
/// Writes the weights for other programs as a new file; some formats add further files.
int export_weights(const ExportArguments& arguments);

struct ImportArguments {
  std::string file;
  std::string from;  ///< one of import_formats()
  std::string config;
  std::vector<std::string> overrides;
  std::string out;
};
std::vector<std::string> import_formats();
/// Makes a checkpoint from a config and another program's weight file.
int import_weights(const ImportArguments& arguments);

struct VerifyResumeArguments {
  std::string config;
  std::vector<std::string> overrides;
  std::uint64_t at = 0;  ///< step after which the second run is killed; 0: half of the run
  bool quiet = false;
};
/// Trains a config twice, once without interruption and once killed and resumed, and compares
/// metrics and last checkpoints. Returns 1 when they differ.
int verify_resume(const VerifyResumeArguments& arguments);

/// Shows the differences between two checkpoints or runs. Returns 1 when there are any.
int diff(const std::string& first, const std::string& second);

/// Runs a failed step op by op and compares each result with a run in higher precision. Returns 1
/// when an op differs by more than its tolerance.
int replay(const std::string& file);

/// Checks files for damage. Returns the exit code of the first bad file.
int verify(const std::vector<std::string>& files);
int config(const std::string& key);
int tasks(const std::string& name);
int info();

}  // namespace xgrad::commands

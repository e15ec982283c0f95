// Config: all settings of a run, read from one TOML file. The tables in model_keys.cpp and
// section_keys.cpp have the allowed values and the help of its keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <xgrad/data/options.hpp>
#include <xgrad/optim/optimizers.hpp>
#include <xgrad/optim/schedule.hpp>

namespace xgrad {

/// [model]
struct ModelConfig {
  std::string kind = "encoder";         ///< kind of model, such as "encoder"
  std::size_t width = 64;               ///< D
  std::size_t heads = 4;                ///< H
  std::size_t head_dim = 0;             ///< 0: width / heads
  std::size_t layers = 2;               ///< blocks
  std::size_t feedforward = 0;          ///< width of the MLP's hidden layer; 0: 4 * width
  double dropout = 0.1;                 ///< dropout rate after each sublayer and inside the MLP
  double attention_dropout = 0.1;       ///< dropout rate of the attention weights
  double stochastic_depth = 0;          ///< skip rate p of the last layer; layer l of L: p * l / L
  std::string norm = "pre";             ///< where a layer normalises: the name of a NormOrder
  std::string normalization = "layer";  ///< kind of norm: the name of a Normalization
  bool final_norm = true;               ///< adds a norm after the last block
  double norm_eps = 1e-5;               ///< epsilon of every norm
  std::string activation = "gelu";      ///< of the MLP: the name of an Activation
  std::string positions = "learned";    ///< position encoding: the name of a PositionKind
  std::size_t max_distance = 32;        ///< for relative_bias: distances beyond this share one bias
  bool cross_positions = false;         ///< rotary positions in cross-attention too
  std::string pool = "cls";             ///< for sequence outputs: the name of a Pool
  bool stablemax = false;               ///< probabilities by StableMax instead of softmax
  std::string input = "embedding";      ///< how token ids become vectors
  bool embedding_norm = false;          ///< adds a norm before the first block
  std::size_t window = 3;               ///< for window_mlp: tokens in a window; odd
  std::size_t patch = 4;                ///< side of an image patch, in pixels
  std::size_t patch_overlap = 0;        ///< extra pixels on each side of a patch
  bool qkv_bias = false;                ///< adds a bias to queries, keys and values
  bool out_bias = true;                 ///< adds a bias to the output projection
  bool out_proj = true;       ///< output projection; false requires heads * head_dim == width
  std::string mask = "none";  ///< which tokens a token attends to
  bool exclude_self = false;  ///< a token does not attend to itself
  std::string score = "dot";  ///< how a query and a key are compared: the name of a Score
  double scale = 0;           ///< factor of the scores; 0: the default of Score
  double temperature = 1;     ///< divides the scores
  bool log_scale = false;     ///< multiplies the scores by log(number of attended tokens)
  std::string attention_activation = "softmax";  ///< the name of an AttentionActivation
  bool attention_mean = false;                   ///< divides weights by number of attended tokens
  std::string init = "default";                  ///< the name of an InitScheme
  double init_std = 0.02;                        ///< for init "trunc_normal"
  bool init_scaled_residuals = false;            ///< smaller initial weights at ends of sublayers
  std::string init_from = {};                    ///< file of initial weights; empty: random weights
  bool init_strict = true;  ///< init_from must hold exactly the model's weights
  double init_noise = 0;    ///< standard deviation of the noise added to the weights of init_from
  Options own = {};         ///< keys of a model kind that is not built in (PartEntry)
};

/// [optim]; by default, biases, norms, embeddings and positions have no weight decay.
struct OptimConfig : OptimizerOptions {
  OptimConfig() : OptimizerOptions{.weight_decay = 0.01, .momentum = 0.9} {}

  std::string name = "adamw";  ///< one of optimizer_names()
  double lr = 1e-3;            ///< peak learning rate
  Options own = {};            ///< keys of an optimizer that is not built in (PartEntry)
};

/// [schedule]
struct ScheduleConfig : ScheduleOptions {
  std::string name = "cosine";  ///< one of schedule_names()
  std::uint64_t warmup = 0;     ///< steps of warm-up
  std::uint64_t patience = 10;  ///< for plateau: evaluations without improvement before a drop
  Options own = {};             ///< keys of a schedule that is not built in (PartEntry)
};

/// [train]
struct TrainConfig {
  std::uint64_t steps = 0;     ///< length of the run; set either steps or epochs
  std::uint64_t epochs = 0;    ///< passes over the training split
  std::size_t batch = 64;      ///< examples per micro-batch
  std::size_t bucket = 1;      ///< sorts the examples of this many micro-batches by length
  std::size_t shards = 1;      ///< parts of each micro-batch; gradients are added in a fixed order
  std::size_t accumulate = 1;  ///< micro-batches per step; a step sees batch * accumulate examples
  double clip = 1.0;           ///< maximum global gradient norm; 0: no clipping
  double clip_value = 0.0;     ///< maximum absolute value of a gradient element; 0: none
  std::string loss = "auto";   ///< auto: by the type of target
  double huber_delta = 1.0;    ///< error at which huber turns from quadratic to linear
  double label_smoothing = 0.0;  ///< fraction of the target probability spread over all classes
  std::vector<double> class_weights = {};  ///< a weight per class; empty: all 1
  /// True if the config says class_weights = "balanced". The weight of a class is then inversely
  /// proportional to its number of training targets.
  bool balanced_classes = false;
  double head_diversity = 0.0;         ///< weight of the penalty on similar heads
  double dropout_start = 1.0;          ///< factor of all dropout rates in the first step
  double dropout_end = 1.0;            ///< factor of all dropout rates in the last step
  std::size_t curriculum_start = 0;    ///< longest training example at first; 0: no limit
  std::uint64_t curriculum_steps = 0;  ///< steps over which the limit grows to the longest example
  std::uint64_t seed = 1;         ///< seed of data, initial weights, order of examples and dropout
  double ema = 0.0;               ///< decay of the moving average of the weights; 0: none
  std::uint64_t swa_start = 0;    ///< step after which averaging (SWA) begins; 0: none
  std::uint64_t swa_every = 1;    ///< steps between two updates of the SWA average
  std::uint64_t patience = 0;     ///< stops after this many evaluations without a new best; 0: off
  std::string on_spike = "stop";  ///< reaction to a spike: stop, skip or rollback
  double spike = 0.0;  ///< a gradient norm above this multiple of its mean is a spike; 0: off
  /// Steps between checks that a gradient reaches every parameter; 0: no checks.
  std::uint64_t dead_gradients_every = 100;
  double max_seconds = 0.0;  ///< saves and stops the run after this many seconds; 0: no limit
  int threads = 0;           ///< number of threads; 0: one per core
  bool recompute = false;    ///< backward reruns encoder blocks instead of storing their values
  std::uint64_t evaluate_every = 0;  ///< in steps; 0: every epoch, or steps / 10 if `steps` is set
  std::uint64_t save_every = 0;      ///< in steps; 0: evaluate_every; every new best is saved too
  std::size_t keep = 2;              ///< number of newest checkpoints to keep besides the best
  bool keep_best = true;             ///< uses the weights of the best step, not of the last
  std::string best_metric = "loss";  ///< validation metric that chooses the best step
  std::string precision = "float";   ///< float, double or bf16 (mixed precision)
};

/// [expect]: what the config claims about its result; an absent key claims nothing
struct ExpectConfig {
  std::optional<double> accuracy;        ///< minimum on the test split
  std::optional<double> accuracy_below;  ///< maximum on the test split, to show a failure
  std::optional<double> below_ceiling;   ///< maximum gap to the best possible accuracy
  std::optional<double> above_baseline;  ///< minimum lead of the accuracy over best_baseline()
  /// Maximum difference between the accuracy and the best possible accuracy of a model that reads
  /// each token alone.
  std::optional<double> at_token_ceiling;
  std::optional<double> above_floor;         ///< maximum of loss / lowest possible loss - 1
  std::optional<double> exact_match;         ///< minimum
  std::optional<double> r2;                  ///< minimum
  std::optional<double> loss;                ///< maximum
  std::optional<double> bits_per_character;  ///< maximum, for language models of characters
  std::optional<double> bits_below_rule;     ///< minimum gain in bits over the best n-gram rule
  std::optional<std::uint64_t> parameters;   ///< exact number of scalars in all parameters
  /// A validation at or before this step meets all claims about metrics except accuracy_below and
  /// bits_below_rule; see first_reached().
  std::optional<std::uint64_t> within_steps;
  std::optional<double> seconds;  ///< maximum time of training; only `xgrad check` judges it
  /// The state_hash() after the last step. If an override sets a key that is neither in [expect]
  /// nor an execution key (to_toml()), the config loses this claim, unless the claim itself is an
  /// override.
  std::optional<std::string> sha256;
};

/// All settings of a run.
struct Config {
  std::string task;              ///< [task] name
  Options task_options;          ///< the keys of the task, defaults included
  ModelConfig model;             ///< the model
  OptimConfig optim;             ///< the optimizer
  ScheduleConfig schedule;       ///< the learning rate over the steps
  TrainConfig train;             ///< length, batches, loss and saves
  std::uint64_t log_every = 50;  ///< [log] every: steps between rows of metrics.jsonl
  bool log_tensorboard = false;  ///< [log] tensorboard
  bool log_csv = false;          ///< [log] csv
  bool log_digests = false;      ///< [log] digests
  std::string log_hooks;         ///< [log] hooks: names, separated by commas
  Options hook_options;          ///< [log]: keys of the hooks (PartEntry)
  std::string run_dir;           ///< [run] dir; empty: runs/NAME for NAME.toml
  double mpi_timeout = 60;  ///< [mpi] timeout: seconds to wait for a process before the run ends
  ExpectConfig expect;      ///< claims about the result
};

/// Calls `f.operator()<T>()` with T = float or double, as train.precision says.
template <class F>
auto with_precision(const Config& config, const F& f) {
  return config.train.precision == "double" ? f.template operator()<double>()
                                            : f.template operator()<float>();
}

/// A part that a program adds to xgrad: a model kind, an optimizer, a schedule or a hook. Configs
/// choose it by its name.
struct PartEntry {
  std::string name;                      ///< its name: lower-case letters, digits and _
  std::string help;                      ///< one sentence
  std::vector<OptionSpec> options = {};  ///< its own keys, in the section that chooses it
  /// Keys of built-in parts that this part also reads, such as "width" for a model kind. A config
  /// that chooses this part must not set other keys of built-in parts in the section.
  std::vector<std::string> keys = {};
};

/// Who wrote a config: a user, or xgrad, which stores a config in each run.
enum class ConfigWriter { user, xgrad };

/// Reads a config file and applies overrides ("optim.lr=3e-4"). An unknown or misplaced key is an
/// error. Throws ConfigError with one line for each problem: "file:line:column: key: what is wrong
/// (and the nearest valid key)". Also throws ConfigError when the file cannot be read.
Config load_config(const std::string& path, const std::vector<std::string>& overrides,
                   ConfigWriter writer = ConfigWriter::user);

/// Reads a config from text; `origin` replaces the name of the file in messages.
Config parse_config(const std::string& text, const std::string& origin,
                    const std::vector<std::string>& overrides,
                    ConfigWriter writer = ConfigWriter::user);

/// Returns TOML with every key, defaults included; parse_config() reads it back to the same Config.
/// Checkpoints store it without execution keys, such as run.*, train.threads and log.*, because
/// those do not change the result.
std::string to_toml(const Config& config, bool with_execution_keys = true);

/// A key whose value differs between two configs, with both values as TOML on one line.
struct ConfigDifference {
  std::string key;     ///< "optim.lr"
  std::string before;  ///< "0.001"; "nothing" if the key is not given
  std::string after;   ///< "0.0003"; "nothing" if the key is not given
  /// Compares all members.
  friend bool operator==(const ConfigDifference&, const ConfigDifference&) = default;
};
/// "optim.lr: 0.001 -> 0.0003"
std::string to_string(const ConfigDifference& difference);

/// The keys whose values differ, except execution keys.
std::vector<ConfigDifference> differences(const Config& a, const Config& b);

/// Returns what `xgrad config` prints: every key with its default and help, or one key or section.
std::string describe_config(const std::string& key_or_section = "");

/// A key, and the values that it can have if they are few.
struct KeyValues {
  std::string key;                  ///< "optim.name"
  std::vector<std::string> values;  ///< allowed values as in an override; empty: many
};
/// All keys with their values, for shell completion. Lists a key of several tasks only once.
std::vector<KeyValues> key_values();

/// Returns a JSON Schema (draft 7) of all keys, for editors. It holds the type, range and allowed
/// values of each key, and which optimizers, schedules and tasks read the key. It does not hold
/// rules between keys.
std::string config_schema();

}  // namespace xgrad

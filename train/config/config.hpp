// Config: everything a run is, from one TOML file. One table in config_keys.cpp defines every key,
// its default, its range and its help.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <xgrad/data/options.hpp>
#include <xgrad/optim/groups.hpp>

namespace xgrad {

/// [model]
struct ModelConfig {
  std::string kind = "encoder";         ///< encoder, encoder_decoder, mlp, window_mlp
  std::size_t width = 64;               ///< D
  std::size_t heads = 4;                ///< H
  std::size_t head_dim = 0;             ///< 0: width / heads
  std::size_t layers = 2;               ///< blocks
  std::size_t feedforward = 0;          ///< width of the MLP's hidden layer; 0: 4 * width
  double dropout = 0.1;                 ///< after each sublayer and inside the MLP
  double attention_dropout = 0.1;       ///< on the attention probabilities
  std::string norm = "pre";             ///< the order: pre, post, sandwich, none
  std::string normalization = "layer";  ///< the kind: layer, rms, batch
  bool final_norm = true;               ///< one more norm after the last block
  double norm_eps = 1e-5;               ///< of every norm
  std::string activation = "gelu";      ///< gelu, gelu_tanh, relu, silu
  std::string positions = "learned";    ///< the words of PositionKind
  std::size_t max_distance = 32;        ///< K of relative_bias
  std::string pool = "cls";             ///< cls, mean, max, attention; for sequence outputs
  std::string input = "embedding";      ///< of token ids: embedding, one_hot
  bool embedding_norm = false;          ///< one more norm before the first block
  std::size_t window = 3;               ///< tokens that window_mlp reads together, odd
  std::size_t patch = 4;                ///< side of a patch, for images
  bool qkv_bias = false;                ///< on queries, keys and values
  bool out_bias = true;                 ///< on the output projection
  bool out_proj = true;                 ///< without it heads * head_dim is width
  std::string mask = "none";            ///< none, causal, adjacency
  bool exclude_self = false;            ///< a token does not attend to itself
  std::string score = "dot";            ///< dot, cosine, additive
  double scale = 0;                     ///< of the scores; 0: that of Score
  double temperature = 1;               ///< divides the scale
  bool log_scale = false;               ///< scores times log of the number of keys
  std::string attention_activation = "softmax";  ///< the words of AttentionActivation
  bool attention_mean = false;                   ///< weights divided by the number of keys
  std::string init_from = {};  ///< weights to start from, a file; empty: random ones
  bool init_strict = true;     ///< init_from gives every weight, and has no others
};

/// [optim]
struct OptimConfig {
  std::string name = "adamw";          ///< of optimizer_names()
  double lr = 1e-3;                    ///< the highest learning rate
  double beta1 = 0.9;                  ///< of adam, adamw and lion
  double beta2 = 0.999;                ///< of adam, adamw and lion
  double eps = 1e-8;                   ///< of those that divide
  double weight_decay = 0.01;          ///< not for biases, norms and embeddings
  double momentum = 0.9;               ///< of sgd
  bool nesterov = false;               ///< of sgd
  double alpha = 0.99;                 ///< of rmsprop
  std::vector<ParameterGroup> groups;  ///< parameters with settings of their own
};

/// [schedule]
struct ScheduleConfig {
  std::string name = "cosine";  ///< of schedule_names()
  std::uint64_t warmup = 0;     ///< steps
  double final = 0.0;           ///< the last learning rate, as a part of lr
  double power = 1.0;           ///< of polynomial
  std::uint64_t every = 0;      ///< of step
  double gamma = 0.1;           ///< of step and plateau
  double decay = 0.2;           ///< of wsd
  double div = 25.0;            ///< of one_cycle
  std::uint64_t patience = 10;  ///< of plateau
};

/// [train]
struct TrainConfig {
  std::uint64_t steps = 0;        ///< exactly one of steps and epochs is given
  std::uint64_t epochs = 0;       ///< passes over the training split
  std::size_t batch = 64;         ///< examples of a micro-batch
  std::size_t bucket = 1;         ///< micro-batches that share their examples by length
  std::size_t accumulate = 1;     ///< micro-batches a step; a step sees batch * accumulate examples
  double clip = 1.0;              ///< global gradient norm; 0: none
  std::string loss = "auto";      ///< by the task's targets, or cross_entropy ... huber
  double huber_delta = 1.0;       ///< where huber turns from square to line
  double label_smoothing = 0.0;   ///< part of a target's weight that goes to all classes
  double head_diversity = 0.0;    ///< weight of the penalty on heads that see the same
  std::uint64_t seed = 1;         ///< of data, initial values and dropout
  double ema = 0.0;               ///< decay of the weights' mean; 0: none
  std::uint64_t patience = 0;     ///< evaluations without a better validation loss; 0: no end
  std::string on_spike = "stop";  ///< stop, skip, rollback
  double spike = 0.0;             ///< a gradient norm so many times its mean is a spike; 0: none is
  double max_seconds = 0.0;       ///< 0: no limit
  int threads = 0;                ///< 0: all cores
  bool recompute = false;         ///< blocks of an encoder run again in backward
  std::uint64_t evaluate_every =
      0;                         ///< steps; 0: at the end of each epoch, or every tenth of the run
  std::uint64_t save_every = 0;  ///< steps, a new best aside; 0: with each evaluation
  std::size_t keep = 2;          ///< newest checkpoints kept, beside the best
  std::string precision = "float";  ///< float, double
};

/// [expect]: what the config claims; absent keys claim nothing
struct ExpectConfig {
  std::optional<double> accuracy;       ///< at least, on the test split
  std::optional<double> below_ceiling;  ///< the accuracy is at most so far below the best there is
  /// The accuracy is at most so far, above or below, from the best from each token by itself.
  std::optional<double> at_token_ceiling;
  std::optional<double> above_floor;  ///< the loss is at most so much above the least, as a part
  std::optional<double> exact_match;  ///< at least
  std::optional<double> r2;           ///< at least
  std::optional<double> loss;         ///< at most
  std::optional<std::uint64_t> parameters;    ///< exactly
  std::optional<std::uint64_t> within_steps;  ///< steps that the run may take at most
};

/// All that a run is.
struct Config {
  std::string task;              ///< [task] name
  Options task_options;          ///< the task's own keys, with its defaults
  ModelConfig model;             ///< what is trained
  OptimConfig optim;             ///< by what
  ScheduleConfig schedule;       ///< at which learning rates
  TrainConfig train;             ///< for how long, on which batches
  std::uint64_t log_every = 50;  ///< [log] every: steps between rows of metrics.jsonl
  bool log_tensorboard = false;  ///< [log] tensorboard
  std::string run_dir;           ///< [run] dir; empty: runs/ and the stem of the file
  ExpectConfig expect;           ///< what it claims
};

/// Who wrote a config. One that xgrad stored may hold keys of an optimizer or a schedule that is
/// not its own, at their defaults, as earlier versions wrote them.
enum class ConfigWriter { user, xgrad };

/// Reads a file and applies overrides ("optim.lr=3e-4"), strictly. Throws ConfigError with every
/// problem, one a line, each as "file:line:column: key: what is wrong (and the nearest valid key)";
/// the same when the file cannot be read.
Config load_config(const std::string& path, const std::vector<std::string>& overrides,
                   ConfigWriter writer = ConfigWriter::user);

/// The same from text; `origin` stands for the file's name in messages.
Config parse_config(const std::string& text, const std::string& origin,
                    const std::vector<std::string>& overrides,
                    ConfigWriter writer = ConfigWriter::user);

/// TOML with every key, including defaults; parse_config() of it gives the same Config. Without
/// execution keys (run.*, train.threads, log.*) it is what a checkpoint stores: they do not change
/// the result.
std::string to_toml(const Config& config, bool with_execution_keys = true);

/// A key whose value differs between two configs, with both values as TOML on one line.
struct ConfigDifference {
  std::string key;     ///< "optim.lr"
  std::string before;  ///< "0.001"; "nothing" where the key is not given
  std::string after;   ///< "0.0003"; "nothing" where the key is not given
  /// Whether they are equal.
  friend bool operator==(const ConfigDifference&, const ConfigDifference&) = default;
};
/// "optim.lr: 0.001 -> 0.0003"
std::string to_string(const ConfigDifference& difference);

/// The keys whose values differ, execution keys left out.
std::vector<ConfigDifference> differences(const Config& a, const Config& b);

/// What `xgrad config` prints: every key with its default and help; or one key or section.
std::string describe_config(const std::string& key_or_section = "");

}  // namespace xgrad

#include <xgrad/train/config_keys.hpp>

#include <algorithm>
#include <type_traits>

#include <xgrad/optim/schedule.hpp>
#include <xgrad/optim/table.hpp>
#include <xgrad/train/config_presets.hpp>

namespace xgrad::detail {

namespace {

struct Limits {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};

Limits at_least(double min) {
  return {.min = min};
}
Limits between(double min, double max) {
  return {min, max};
}
const Limits kFraction = {0, below(1)};  // [0, 1)
constexpr double kMany = 1e12;           // of steps: more than any run, and far from overflow

template <class Field>
OptionValue to_value(const Field& field) {
  if constexpr (std::is_integral_v<Field> && !std::is_same_v<Field, bool>) {
    return std::int64_t(field);
  } else {
    return field;
  }
}

template <class Field>
Field from_value(const OptionValue& value) {
  if constexpr (std::is_integral_v<Field> && !std::is_same_v<Field, bool>) {
    return Field(std::get<std::int64_t>(value));
  } else {
    return std::get<Field>(value);
  }
}

// A row whose value is what `place` returns for a config, and whose default is that of a new one.
template <class Place>
ConfigKey row(const char* section, const char* name, Place place, const char* help, Limits limits,
              std::vector<std::string> choices) {
  using Field = std::remove_cvref_t<decltype(place(std::declval<Config&>()))>;
  Config fresh;
  ConfigKey key;
  key.section = section;
  key.get = [place](const Config& config) {
    return to_value<Field>(place(const_cast<Config&>(config)));
  };
  key.set = [place](Config& config, const OptionValue& value) {
    place(config) = from_value<Field>(value);
  };
  key.spec = {
      name, to_value<Field>(place(fresh)), help, limits.min, limits.max, std::move(choices)};
  return key;
}

// Makes the rows of the section that is `part` of a Config.
template <class Part>
struct Rows {
  const char* section;
  Part Config::*part;

  template <class Field>
  ConfigKey operator()(const char* name, Field Part::*field, const char* help,
                       Limits limits = {}) const {
    const auto place = [part = part, field](Config& config) -> Field& {
      return config.*part.*field;
    };
    return row(section, name, place, help, limits, {});
  }

  ConfigKey operator()(const char* name, std::string Part::*field, const char* help,
                       std::vector<std::string> choices) const {
    const auto place = [part = part, field](Config& config) -> std::string& {
      return config.*part.*field;
    };
    return row(section, name, place, help, {}, std::move(choices));
  }
};

// Only concerns how a run is executed.
ConfigKey execution(ConfigKey key) {
  key.execution = true;
  return key;
}

// A claim: absent unless given.
template <class Field>
ConfigKey claim(const char* name, std::optional<Field> ExpectConfig::*field, const char* help,
                Limits limits) {
  ConfigKey key;
  key.section = "expect";
  key.get = [field](const Config& config) -> std::optional<OptionValue> {
    const auto& value = config.expect.*field;
    return value ? std::optional(to_value(*value)) : std::nullopt;
  };
  key.set = [field](Config& config, const OptionValue& value) {
    config.expect.*field = from_value<Field>(value);
  };
  key.spec = {name, to_value(Field()), help, limits.min, limits.max, {}};
  return key;
}

using Keys = std::vector<ConfigKey>;

// Tells each row which values of the section's `name` read it.
Keys with_users(Keys keys, const std::vector<std::string>& names,
                const std::vector<std::string>& (*keys_of)(const std::string&)) {
  for (ConfigKey& key : keys) {
    for (const std::string& name : names) {
      const std::vector<std::string>& read = keys_of(name);
      if (std::find(read.begin(), read.end(), key.spec.name) != read.end()) {
        key.users.push_back(name);
      }
    }
  }
  return keys;
}

Keys task_keys() {
  return {
      row("task", "name", [](Config& c) -> std::string& { return c.task; },
          "The task; it has no default.", {}, {}),
  };
}

Keys model_keys() {
  using M = ModelConfig;
  const Rows<ModelConfig> key{"model", &Config::model};
  const Limits size = between(1, 65536), size_or_zero = between(0, 65536);
  return {
      preset_key(),
      key("kind", &M::kind,
          "The model; those without attention are baselines: an MLP on each token alone, or on a "
          "window of its neighbours.",
          {"encoder", "encoder_decoder", "mlp", "window_mlp"}),
      key("width", &M::width, "Features of a token.", size),
      key("heads", &M::heads, "Attention heads; divides width unless head_dim is set.",
          between(1, 1024)),
      key("head_dim", &M::head_dim, "Features of a head; 0: width / heads.", size_or_zero),
      key("layers", &M::layers, "Layers of the encoder, and of the decoder where there is one.",
          between(0, 1024)),
      key("feedforward", &M::feedforward, "Hidden features of the MLP; 0: 4 times width.",
          between(0, 1048576)),
      key("dropout", &M::dropout, "Rate of dropout after each sublayer and inside the MLP.",
          kFraction),
      key("attention_dropout", &M::attention_dropout,
          "Rate of dropout on the attention probabilities.", kFraction),
      key("norm", &M::norm,
          "Where a layer normalises: before its sublayers, after their residuals, around each "
          "sublayer, or not at all.",
          {"pre", "post", "sandwich", "none"}),
      key("normalization", &M::normalization,
          "How it normalises: layer norm, by the root mean square alone, or each feature over the "
          "tokens of a batch, in evaluation too.",
          {"layer", "rms", "batch"}),
      key("final_norm", &M::final_norm, "One more norm after the last layer."),
      key("norm_eps", &M::norm_eps, "What a norm adds to the variance or mean square.",
          between(above(0), 1)),
      key("activation", &M::activation, "The MLP's; gelu is the exact one.",
          {"gelu", "gelu_tanh", "relu", "silu"}),
      key("positions", &M::positions, "How a token learns its place.",
          {"none", "learned", "learned_2d", "sinusoidal", "relative_index", "rotary", "alibi",
           "relative_bias"}),
      key("max_distance", &M::max_distance,
          "Distance from which on relative_bias knows no difference.", between(1, 65535)),
      key("pool", &M::pool, "How a sequence becomes one vector, where it has one target.",
          {"cls", "mean", "max", "attention"}),
      key("input", &M::input, "How token ids become vectors.", {"embedding", "one_hot"}),
      key("embedding_norm", &M::embedding_norm,
          "One more norm before the first layer, as BERT has it."),
      key("window", &M::window, "Tokens that window_mlp reads together, itself included; odd.",
          between(1, 65535)),
      key("patch", &M::patch, "Side of an image's patches, in pixels.", between(1, 1024)),
      key("qkv_bias", &M::qkv_bias, "A bias on queries, keys and values."),
      key("out_bias", &M::out_bias, "A bias on the attention's output projection."),
      key("out_proj", &M::out_proj,
          "A projection of what the heads found; without it heads times head_dim is width."),
      key("init_from", &M::init_from,
          "Weights to start from, safetensors, npz or a checkpoint; empty: random ones."),
      key("init_strict", &M::init_strict,
          "The file of init_from has every weight of the model and no others; false: what fits is "
          "taken, and the run says at its start what does not."),
  };
}

// Of [model] too: what a token attends to, and how much.
Keys attention_keys() {
  using M = ModelConfig;
  const Rows<ModelConfig> key{"model", &Config::model};
  return {
      key("mask", &M::mask,
          "What a token attends to: all tokens, those up to its place, or its neighbours in a "
          "graph.",
          {"none", "causal", "adjacency"}),
      key("exclude_self", &M::exclude_self, "A token does not attend to itself."),
      key("score", &M::score,
          "How a query and a key are compared: q.k, their cosine, or w.tanh(q + k).",
          {"dot", "cosine", "additive"}),
      key("scale", &M::scale,
          "Factor of the scores; 0: 1/sqrt(head_dim) for dot, sqrt(head_dim) for cosine, 1 for "
          "additive.",
          at_least(0)),
      key("temperature", &M::temperature, "Divides the scores.", at_least(above(0))),
      key("log_scale", &M::log_scale,
          "Multiplies the scores by the logarithm of the number of tokens that are attended to."),
      key("attention_activation", &M::attention_activation,
          "What turns scores into the weights of the values.",
          {"softmax", "relu", "squared_relu", "sigmoid", "sparsemax"}),
      key("attention_mean", &M::attention_mean,
          "Divides the weights by the number of tokens that are attended to."),
  };
}

Keys optim_keys() {
  using O = OptimConfig;
  const Rows<OptimConfig> key{"optim", &Config::optim};
  Keys keys = {
      key("name", &O::name, "The optimizer.", optimizer_names()),
      key("lr", &O::lr, "The highest learning rate.", at_least(above(0))),
      key("beta1", &O::beta1, "Decay of the mean of gradients, of Adam and Lion.", kFraction),
      key("beta2", &O::beta2,
          "Decay of Adam's mean of squared gradients, and of the mean that Lion keeps (0.99).",
          kFraction),
      key("eps", &O::eps, "Added to the root that Adam, Adagrad and RMSprop divide by.",
          at_least(above(0))),
      key("weight_decay", &O::weight_decay,
          "Decay of matrices; biases, norms and embeddings have none.", at_least(0)),
      key("momentum", &O::momentum, "Momentum of sgd.", kFraction),
      key("nesterov", &O::nesterov, "Nesterov's momentum, of sgd."),
      key("alpha", &O::alpha, "Decay of RMSprop's mean of squared gradients.", kFraction),
  };
  return with_users(std::move(keys), optimizer_names(), optimizer_keys);
}

Keys schedule_rows() {
  using S = ScheduleConfig;
  const Rows<ScheduleConfig> key{"schedule", &Config::schedule};
  Keys keys = {
      key("name", &S::name, "How the learning rate falls after warm-up.", schedule_names()),
      key("warmup", &S::warmup, "Steps in which the learning rate first rises to optim.lr.",
          between(0, kMany)),
      key("final", &S::final, "The learning rate at the end, as a part of optim.lr.",
          between(0, 1)),
      key("power", &S::power, "Exponent of polynomial.", at_least(above(0))),
      key("every", &S::every, "Steps from one fall of step to the next.", between(0, kMany)),
      key("gamma", &S::gamma, "Factor of each fall, of step and plateau.",
          between(above(0), below(1))),
      key("decay", &S::decay, "Part of the steps after warm-up in which wsd falls.",
          between(above(0), 1)),
      key("div", &S::div, "One_cycle begins at optim.lr divided by this.", at_least(1)),
      key("patience", &S::patience,
          "Evaluations without a better validation loss that plateau accepts.", between(0, kMany)),
  };
  return with_users(std::move(keys), schedule_names(), schedule_keys);
}

Keys train_keys() {
  using T = TrainConfig;
  const Rows<TrainConfig> key{"train", &Config::train};
  return {
      key("steps", &T::steps, "Length of the run; give this or epochs.", between(0, kMany)),
      key("epochs", &T::epochs, "Length of the run, in passes over the training data.",
          between(0, kMany)),
      key("batch", &T::batch, "Examples of a micro-batch.", between(1, 1048576)),
      key("bucket", &T::bucket,
          "Micro-batches among which examples of similar length go together, so that little is "
          "padded; 1: none.",
          between(1, 1048576)),
      key("accumulate", &T::accumulate, "Micro-batches of a step.", between(1, 1048576)),
      key("clip", &T::clip, "Largest global norm of the gradient; 0: no clipping.", at_least(0)),
      key("loss", &T::loss,
          "What is minimised; auto: cross_entropy of classes, binary_cross_entropy of yes or no, "
          "mse of numbers.",
          {"auto", "cross_entropy", "binary_cross_entropy", "mse", "mae", "huber"}),
      key("huber_delta", &T::huber_delta, "Where the huber loss turns from a square to a line.",
          at_least(above(0))),
      key("label_smoothing", &T::label_smoothing, "Part of the target that goes to all classes.",
          kFraction),
      key("head_diversity", &T::head_diversity,
          "Weight of a penalty that drives heads apart, the mean squared cosine of the attention "
          "maps of two heads; 0: none. What is reported as the loss is without it.",
          at_least(0)),
      key("seed", &T::seed, "Of data, initial values, order and dropout: all that is random.",
          at_least(0)),
      key("ema", &T::ema,
          "Decay of a mean of the weights, which then is what is evaluated; 0: none.", kFraction),
      key("patience", &T::patience,
          "Evaluations without a better validation loss that end the run; 0: none do.",
          between(0, kMany)),
      key("on_spike", &T::on_spike,
          "When a loss or gradient is not finite, or a spike: end the run, pass over the step, or "
          "go back to the last save and on with the next batches.",
          {"stop", "skip", "rollback"}),
      key("spike", &T::spike,
          "A gradient norm so many times its running mean is a spike; 0: only what is not finite.",
          at_least(0)),
      execution(key("max_seconds", &T::max_seconds,
                    "Seconds after which the run saves and stops, as by a signal; 0: no limit.",
                    at_least(0))),
      execution(key("threads", &T::threads,
                    "Threads that compute; 0: one for each core. The result does not depend on it.",
                    between(0, 1024))),
      execution(key("recompute", &T::recompute,
                    "Keep of each block of an encoder its input alone and run it again in "
                    "backward: less memory, more time, the same result.")),
      key("evaluate_every", &T::evaluate_every,
          "Steps between evaluations; 0: an epoch, or a tenth of the run.", between(0, kMany)),
      key("save_every", &T::save_every,
          "Steps between checkpoints, beside those of a new best; 0: as evaluate_every.",
          between(0, kMany)),
      key("keep", &T::keep, "Newest checkpoints that are kept, two at least, beside the best.",
          between(1, 1048576)),
      key("precision", &T::precision, "Type of all numbers.", {"float", "double"}),
  };
}

Keys other_keys() {
  return {
      execution(row("log", "every", [](Config& c) -> std::uint64_t& { return c.log_every; },
                    "Steps between rows of metrics.jsonl.", between(1, kMany), {})),
      execution(row("log", "tensorboard", [](Config& c) -> bool& { return c.log_tensorboard; },
                    "Also write what TensorBoard reads.", {}, {})),
      execution(row("run", "dir", [](Config& c) -> std::string& { return c.run_dir; },
                    "Directory of the run; empty: runs/NAME for NAME.toml. ~ is refused.", {}, {})),
      claim("accuracy", &ExpectConfig::accuracy, "Accuracy on the test split, at least.",
            between(0, 1)),
      claim("below_ceiling", &ExpectConfig::below_ceiling,
            "Accuracy at least the best there can be less this; of tasks that know it.",
            between(0, 1)),
      claim("at_token_ceiling", &ExpectConfig::at_token_ceiling,
            "Accuracy within this of the best from each token alone; of tasks that know it.",
            between(0, 1)),
      claim("above_floor", &ExpectConfig::above_floor,
            "Loss at most the least there can be and this part of it; of tasks that know it.",
            at_least(0)),
      claim("exact_match", &ExpectConfig::exact_match,
            "Part of the test samples that is right throughout, at least.", between(0, 1)),
      claim("r2", &ExpectConfig::r2, "R^2 on the test split, at least.", between(-kMany, 1)),
      claim("loss", &ExpectConfig::loss, "Loss on the test split, at most.", at_least(0)),
      claim("parameters", &ExpectConfig::parameters,
            "Number of scalars in all parameters, exactly.", between(1, kMany)),
      claim("within_steps", &ExpectConfig::within_steps, "Steps of the run, at most.",
            between(1, kMany)),
  };
}

Keys all_keys() {
  Keys all;
  for (Keys (*part)() :
       {task_keys, model_keys, attention_keys, optim_keys, schedule_rows, train_keys, other_keys}) {
    for (ConfigKey& key : part()) all.push_back(std::move(key));
  }
  return all;
}

}  // namespace

bool ConfigKey::read_by(const std::string& user) const {
  return users.empty() || std::find(users.begin(), users.end(), user) != users.end();
}

const std::vector<ConfigKey>& config_keys() {
  static const Keys keys = all_keys();
  return keys;
}

const std::vector<std::string>& config_sections() {
  static const std::vector<std::string> sections = [] {
    std::vector<std::string> names;
    for (const ConfigKey& key : config_keys()) {
      if (names.empty() || names.back() != key.section) names.push_back(key.section);
    }
    return names;
  }();
  return sections;
}

const ConfigKey* find_config_key(std::string_view section, std::string_view name) {
  for (const ConfigKey& key : config_keys()) {
    if (key.section == section && key.spec.name == name) return &key;
  }
  return nullptr;
}

bool is_read(const ConfigKey& key, const Config& config) {
  if (key.users.empty()) return true;
  const auto name = find_config_key(key.section, "name")->get(config);
  return key.read_by(std::get<std::string>(*name));
}

}  // namespace xgrad::detail

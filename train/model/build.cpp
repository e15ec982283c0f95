#include <xgrad/train/model/build.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <map>

#include <xgrad/autograd/autocast.hpp>
#include <xgrad/autograd/kernels/cpu.hpp>
#include <xgrad/data/generated_task.hpp>
#include <xgrad/layers/init.hpp>
#include <xgrad/layers/models/generate.hpp>
#include <xgrad/layers/models/models.hpp>
#include <xgrad/train/config/keys.hpp>
#include <xgrad/train/model/parts.hpp>

namespace xgrad {

namespace {

// The enumerator at the place of a word among those that a key of [model] takes, which stand in the
// enumerators' order.
template <class Enum>
Enum choose(const char* key, const std::string& word, int first = 0) {
  const auto& words = detail::find_config_key("model", key)->spec.choices;
  return Enum(first + (std::ranges::find(words, word) - words.begin()));
}

PositionKind positions(const ModelConfig& config) {
  return choose<PositionKind>("positions", config.positions);
}

Activation activation(const ModelConfig& config) {
  return choose<Activation>("activation", config.activation);
}

MultiHeadAttentionOptions attention_options(const ModelConfig& config) {
  return {.width = config.width,
          .heads = config.heads,
          .head_dim = config.head_dim,
          .dropout = config.attention_dropout,
          .qkv_bias = config.qkv_bias,
          .out_proj = config.out_proj,
          .out_bias = config.out_bias,
          .scale = config.scale > 0 ? std::optional(config.scale) : std::nullopt,
          .weights = {.score = choose<Score>("score", config.score),
                      .activation = choose<AttentionActivation>("attention_activation",
                                                                config.attention_activation),
                      .temperature = config.temperature,
                      .log_scale = config.log_scale,
                      .mean = config.attention_mean},
          .positions = positions(config),
          .max_distance = config.max_distance,
          .cross_positions = config.cross_positions,
          .causal = config.mask == "causal",
          .exclude_self = config.exclude_self};
}

NormOptions norm_options(const ModelConfig& config) {
  return {choose<Normalization>("normalization", config.normalization), config.norm_eps};
}

EncoderOptions encoder_options(const ModelConfig& config) {
  EncoderOptions options;
  options.layers = config.layers;
  options.attention = attention_options(config);
  options.feedforward = config.feedforward;
  options.activation = activation(config);
  options.norm = choose<NormOrder>("norm", config.norm);
  options.normalization = norm_options(config).kind;
  options.norm_eps = config.norm_eps;
  options.final_norm = config.final_norm;
  options.dropout = config.dropout;
  options.stochastic_depth = config.stochastic_depth;
  return options;
}

InputOptions input_options(const ModelConfig& config, const TaskShape& shape) {
  InputOptions options;
  options.positions = positions(config);
  options.vocabulary = shape.input == InputKind::tokens ? shape.vocabulary : 0;
  options.one_hot = config.input == "one_hot";
  if (config.embedding_norm) options.norm = norm_options(config);
  options.vector = shape.input == InputKind::vectors ? shape.features : 0;
  options.max_length = shape.max_length;
  options.patch = config.patch;
  options.overlap = config.patch_overlap;
  options.height = shape.height;
  options.width = shape.width;
  options.channels = shape.channels;
  return options;
}

Pool pool(const ModelConfig& config, const TaskShape& shape) {
  if (shape.output == OutputKind::tokens) return Pool::none;
  return choose<Pool>("pool", config.pool, int(Pool::none) + 1);
}

WindowMlpOptions window_mlp_options(const ModelConfig& config, const TaskShape& shape) {
  check<ConfigError>(shape.output == OutputKind::tokens || config.pool != "cls",
                     "model.pool: cls needs attention, which model.kind ", config.kind,
                     " does not have; choose mean, max or attention");
  const PositionKind kind = positions(config);
  check<ConfigError>(kind != PositionKind::relative_index && kind != PositionKind::rotary &&
                         kind != PositionKind::alibi && kind != PositionKind::relative_bias,
                     "model.positions: ", config.positions, " needs attention, which model.kind ",
                     config.kind, " does not have");
  WindowMlpOptions options;
  options.input = input_options(config, shape);
  options.input.features = config.width;
  options.window = config.kind == "mlp" ? 1 : config.window;
  options.layers = config.layers;
  options.hidden = config.feedforward == 0 ? 4 * config.width : config.feedforward;
  options.activation = activation(config);
  options.dropout = config.dropout;
  options.pool = pool(config, shape);
  options.classes = shape.classes;
  return options;
}

void check_fit(const ModelConfig& config, const TaskShape& shape) {
  const bool image = shape.input == InputKind::image;
  check<ConfigError>(image || config.positions != "learned_2d",
                     "model.positions: learned_2d needs a task whose examples are images");
  check<ConfigError>(
      !image || (shape.height % config.patch == 0 && shape.width % config.patch == 0),
      "model.patch: ", config.patch, " does not divide the task's images of ", shape.height, " x ",
      shape.width, " pixels");
  check<ConfigError>(config.input == "embedding" || shape.input == InputKind::tokens,
                     "model.input: ", config.input, " needs a task whose examples are tokens");
  const bool generated = shape.output == OutputKind::generated;
  check<ConfigError>(generated == (config.kind == "encoder_decoder"), "model.kind: ", config.kind,
                     generated
                         ? " cannot generate a sequence, which the task asks for; encoder_decoder"
                           " can"
                         : " generates a sequence, which the task does not ask for");
}

// A model that saw the token to predict would learn nothing else.
void check_next(const ModelConfig& config, const TaskShape& shape) {
  if (shape.next == NextToken::none || config.kind == "mlp") return;
  const char* const task = ", but the task is to predict each token from those before it; ";
  check<ConfigError>(config.kind == "encoder", "model.kind: is ", config.kind, task,
                     "set it to encoder or mlp");
  check<ConfigError>(config.mask == "causal", "model.mask: is ", config.mask, task,
                     "set it to causal");
  check<ConfigError>(config.normalization != "batch",
                     "model.normalization: batch shows a token "
                     "those after it",
                     task, "set it to layer or rms");
  check<ConfigError>(config.positions != "relative_index",
                     "model.positions: relative_index shows "
                     "the length of the text",
                     task, "choose others");
}

void check_mask(const ModelConfig& config, const TaskShape& shape) {
  check<ConfigError>(config.mask != "adjacency" || shape.graph,
                     "model.mask: adjacency needs a task whose examples are graphs");
  const bool encoder = config.kind == "encoder";
  const bool attends = encoder || config.kind == "encoder_decoder";
  check<ConfigError>(config.mask == "none" || encoder || (attends && config.mask == "causal"),
                     "model.mask: ", config.mask, " has no effect with model.kind ", config.kind);
  check<ConfigError>(
      config.mask != "causal" || !encoder || pool(config, shape) != Pool::cls,
      "model.mask: causal hides all tokens from the class token, which comes first; choose "
      "another model.pool than cls");
}

// Drawing the weights of a model that has no room for them would take minutes. So asks first for
// the memory of most of them at once: projections to queries, keys and values, and the MLPs.
template <class T>
void check_room(const ModelConfig& config) {
  const std::size_t keys = config.head_dim == 0 ? config.width : config.heads * config.head_dim;
  const std::size_t hidden = config.feedforward == 0 ? 4 * config.width : config.feedforward;
  const double bytes =
      double(sizeof(T)) * double(config.layers * config.width) * double(3 * keys + 2 * hidden);
  const auto size = std::size_t(std::clamp(bytes, 1.0, 0x1p62));
  void* const place =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) throw OutOfMemory(size, "the weights of the model");
  ::munmap(place, size);
}

// Empty for "default".
Initializer scheme(const ModelConfig& config) {
  return std::map<std::string, Initializer>{{"default", {}},
                                            {"xavier_uniform", init::xavier_uniform()},
                                            {"xavier_normal", init::xavier_normal()},
                                            {"kaiming_uniform", init::kaiming_uniform()},
                                            {"kaiming_normal", init::kaiming_normal()},
                                            {"trunc_normal", init::trunc_normal(config.init_std)},
                                            {"orthogonal", init::orthogonal()}}
      .at(config.init);
}

// Whether a linear layer or a projection of attention has this weight. The table of positions and
// the weights of additive scores, which have other names, are none.
bool is_projection(const std::string& name, WeightDecay weight_decay) {
  return weight_decay == WeightDecay::on &&
         (name.ends_with(".weight") || name.ends_with("proj_weight"));
}

// Empty if init, init_std and init_scaled_residuals are at their defaults. init sets the weights of
// linear layers and the projections of attention, stored as (fan_out, fan_in), to those of
// torch.nn.init, and their biases to 0. Queries, keys and values are one matrix where they are
// stored as one. init_scaled_residuals divides weights that end a sublayer by sqrt(n), where n is
// the number of sublayers of the stack: 2 L in an encoder of L layers, 3 L in a decoder (Radford et
// al. 2019).
InitRule init_rule(const ModelConfig& config) {
  const Initializer chosen = scheme(config);
  if (!chosen && !config.init_scaled_residuals) return {};
  return [chosen, scales = config.init_scaled_residuals, layers = double(config.layers)](
             const std::string& name, WeightDecay weight_decay, const Initializer& own) {
    Initializer result = own;
    if (chosen && is_projection(name, weight_decay)) result = chosen;
    const bool bias = name.ends_with(".bias") || name.ends_with("in_proj_bias");
    if (chosen && bias) result = init::zeros();
    const bool ends_sublayer =
        name.ends_with("out_proj.weight") || name.ends_with("linear2.weight");
    if (!scales || !ends_sublayer) return result;
    const double sublayers = (name.starts_with("decoder.") ? 3 : 2) * layers;
    return init::scaled(std::move(result), 1 / std::sqrt(sublayers));
  };
}

// Models of float in mixed precision.
class MixedDecoding final : public Decoding<float> {
 public:
  explicit MixedDecoding(std::unique_ptr<Decoding<float>> decoding)
      : decoding_(std::move(decoding)) {
    take_logits();
  }
  void append(const std::vector<std::int32_t>& classes) override {
    const Autocast products;
    decoding_->append(classes);
    take_logits();
  }
  void select(const std::vector<std::size_t>& rows) override {
    decoding_->select(rows);
    select_logits(rows);
  }

 private:
  void take_logits() {
    const Tensor<float>& from = decoding_->logits();
    Tensor<float> logits = empty<float>({from.shape()[0], 1, from.shape()[1]});
    std::copy_n(from.data(), from.size(), logits.data());
    set_last(logits);
  }

  std::unique_ptr<Decoding<float>> decoding_;
};

class MixedPrecision final : public SequenceModel<float> {
 public:
  explicit MixedPrecision(std::unique_ptr<SequenceModel<float>> model) : model_(std::move(model)) {}

  Variable<float> operator()(const ModelInput<float>& input,
                             const Context& context) const override {
    const Autocast products;
    return (*model_)(input, context);
  }

  std::unique_ptr<Decoding<float>> decode(const ModelInput<float>& input) const override {
    const Autocast products;
    return std::make_unique<MixedDecoding>(model_->decode(input));
  }

 private:
  std::unique_ptr<SequenceModel<float>> model_;
};

}  // namespace

std::unique_ptr<Task> make_task(const Config& config, const Checkpoint* checkpoint) {
  auto task = find_task(config.task).make(config.task_options, config.train.seed);
  if (config.model.kind == "encoder_decoder") task = generated_task(std::move(task));
  if (checkpoint != nullptr && checkpoint->state.contains(kLearned)) {
    task->adopt(state_value<std::string>(*checkpoint, kLearned));
  }
  return task;
}

// The model in the arithmetic of T.
template <class T>
static std::unique_ptr<SequenceModel<T>> build(const ModelConfig& config, const TaskShape& shape,
                                               Parameters<T>& parameters) {
  if (auto own = detail::make_own_model(config, shape, parameters)) return own;
  check_fit(config, shape);
  check_mask(config, shape);
  check_next(config, shape);
  if (config.kind.starts_with("encoder")) check_room<T>(config);
  if (config.kind == "encoder_decoder") {
    return std::make_unique<EncoderDecoderModel<T>>(
        parameters.root(),
        EncoderDecoderOptions{input_options(config, shape), encoder_options(config), shape.classes,
                              shape.max_outputs});
  }
  if (config.kind != "encoder") {
    return std::make_unique<WindowMlp<T>>(parameters.root(), window_mlp_options(config, shape));
  }
  return std::make_unique<EncoderModel<T>>(
      parameters.root(), EncoderModelOptions{.input = input_options(config, shape),
                                             .encoder = encoder_options(config),
                                             .adjacency = config.mask == "adjacency",
                                             .pool = pool(config, shape),
                                             .classes = shape.classes});
}

template <class T>
std::unique_ptr<SequenceModel<T>> make_model(const Config& config, const TaskShape& shape,
                                             Parameters<T>& parameters) {
  if (const auto& groups = config.optim.groups; !groups.empty()) {
    parameters.freeze([groups](const std::string& name) {
      const ParameterGroup* group = group_of(groups, name);
      return group != nullptr && group->freeze;
    });
  }
  parameters.initialize_by(init_rule(config.model));
  auto model = build(config.model, shape, parameters);
  if constexpr (std::is_same_v<T, float>) {
    if (config.train.precision == "bf16") {
      return std::make_unique<MixedPrecision>(std::move(model));
    }
  }
  return model;
}

std::string arithmetic_of(const Checkpoint& checkpoint) {
  const auto found = checkpoint.state.find("arithmetic");
  const auto* name =
      found == checkpoint.state.end() ? nullptr : std::get_if<std::string>(&found->second);
  return name == nullptr ? "" : *name;
}

template <class T>
BatchInput<T>::BatchInput(const Batch& batch) {
  input_.mask = batch.mask;
  input_.adjacency = batch.adjacency;
  if (batch.targets.dimension() == 2) input_.outputs = &batch.targets;
  if (batch.features.dimension() == 0) {
    input_.ids = &batch.ids;
  } else if constexpr (std::is_same_v<T, float>) {
    input_.features = &batch.features;
  } else {
    features_ = cast<T>(batch.features);
    input_.features = &features_;
  }
}

#define XGRAD_INSTANTIATE(T)                                                             \
  template class BatchInput<T>;                                                          \
  template std::unique_ptr<SequenceModel<T>> make_model(const Config&, const TaskShape&, \
                                                        Parameters<T>&);
XGRAD_FOR_EACH_SCALAR(XGRAD_INSTANTIATE)

}  // namespace xgrad

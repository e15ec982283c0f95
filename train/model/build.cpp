#include <xgrad/train/model/build.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <xgrad/autograd/autocast.hpp>
#include <xgrad/autograd/kernels/cpu.hpp>
#include <xgrad/autograd/memory/memory.hpp>
#include <xgrad/autograd/tensor.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/layers/init.hpp>
#include <xgrad/layers/models/generate.hpp>
#include <xgrad/layers/models/models.hpp>
#include <xgrad/train/config/keys.hpp>
#include <xgrad/train/model/parts.hpp>

namespace xgrad {

namespace {

// Returns the enumerator for a word that a key of [model] allows. The key lists its words in the
// order of the enumerators.
template <class Enum>
Enum choose(const char* key, const std::string& word, int first = 0) {
  const auto& words = detail::find_config_key("model", key)->spec.choices;
  return Enum(first + (std::ranges::find(words, word) - words.begin()));
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
          .positions = choose<PositionKind>("positions", config.positions),
          .max_distance = config.max_distance,
          .cross_positions = config.cross_positions,
          .causal = config.mask == "causal",
          .exclude_self = config.exclude_self};
}

EncoderOptions encoder_options(const ModelConfig& config) {
  return {.layers = config.layers,
          .attention = attention_options(config),
          .feedforward = config.feedforward,
          .activation = choose<Activation>("activation", config.activation),
          .norm = choose<NormOrder>("norm", config.norm),
          .normalization = choose<Normalization>("normalization", config.normalization),
          .final_norm = config.final_norm,
          .norm_eps = config.norm_eps,
          .dropout = config.dropout,
          .stochastic_depth = config.stochastic_depth};
}

InputOptions input_options(const ModelConfig& config, const TaskShape& shape) {
  const NormOptions norm{choose<Normalization>("normalization", config.normalization),
                         config.norm_eps};
  return {.vocabulary = shape.input == InputKind::tokens ? shape.vocabulary : 0,
          .one_hot = config.input == "one_hot",
          .vector = shape.input == InputKind::vectors ? shape.features : 0,
          .patch = config.patch,
          .overlap = config.patch_overlap,
          .height = shape.height,
          .width = shape.width,
          .channels = shape.channels,
          .max_length = shape.max_length,
          .positions = choose<PositionKind>("positions", config.positions),
          .norm = config.embedding_norm ? std::optional(norm) : std::nullopt};
}

Pool pool(const ModelConfig& config, const TaskShape& shape) {
  if (shape.output == OutputKind::tokens) return Pool::none;
  return choose<Pool>("pool", config.pool, int(Pool::none) + 1);
}

WindowMlpOptions window_mlp_options(const ModelConfig& config, const TaskShape& shape) {
  check<ConfigError>(shape.output == OutputKind::tokens || config.pool != "cls",
                     "model.pool: cls needs attention, which model.kind ", config.kind,
                     " does not have; choose mean, max or attention");
  const std::set<std::string> attended = {"relative_index", "rotary", "alibi", "relative_bias"};
  check<ConfigError>(!attended.contains(config.positions), "model.positions: ", config.positions,
                     " needs attention, which model.kind ", config.kind, " does not have");
  WindowMlpOptions options;
  options.input = input_options(config, shape);
  options.input.features = config.width;
  options.window = config.kind == "mlp" ? 1 : config.window;
  options.layers = config.layers;
  options.hidden = config.feedforward == 0 ? 4 * config.width : config.feedforward;
  options.activation = choose<Activation>("activation", config.activation);
  options.dropout = config.dropout;
  options.pool = pool(config, shape);
  options.classes = shape.classes;
  options.stablemax = config.stablemax;
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
  check<ConfigError>(!config.stablemax || shape.target == TargetKind::classes,
                     "model.stablemax: needs targets that are classes; those of the task are ",
                     to_string(shape.target));
  const bool generated = shape.output == OutputKind::generated;
  check<ConfigError>(generated == (config.kind == "encoder_decoder"), "model.kind: ", config.kind,
                     generated
                         ? " cannot generate a sequence, which the task asks for; encoder_decoder"
                           " can"
                         : " generates a sequence, which the task does not ask for");
}

// A model that sees the token to predict, or a token that contains its target, would only copy it.
void check_causal(const ModelConfig& config, const TaskShape& shape) {
  const bool next = shape.next != NextToken::none;
  if ((!next && !shape.causal) || config.kind == "mlp") return;
  const auto need = [&](bool fits, const std::string& what, const char* cure) {
    check<ConfigError>(fits, "model.", what,
                       next ? ", but the task is to predict each token from those before it; "
                            : ", but in this task later tokens contain the targets; ",
                       cure);
  };
  need(config.kind == "encoder", "kind: is " + config.kind, "set it to encoder or mlp");
  need(config.mask == "causal", "mask: is " + config.mask, "set it to causal");
  need(config.normalization != "batch", "normalization: batch lets tokens see later ones",
       "set it to layer or rms");
  need(!next || config.positions != "relative_index",
       "positions: relative_index tells tokens the length of the text", "choose others");
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

// Allocates the memory of most weights once, and frees it: projections to queries, keys and values,
// and the MLPs. If memory is too small, this fails at once; drawing random weights would take
// minutes before it fails.
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

// Empty if init, init_std and init_scaled_residuals are at their defaults. init sets the weights of
// linear layers and the projections of attention, stored as (fan_out, fan_in), to those of
// torch.nn.init, and their biases to 0. If queries, keys and values are stored as one matrix, it is
// initialized as one matrix. init_scaled_residuals divides weights that end a sublayer by sqrt(n),
// where n is the number of sublayers of the stack: 2 L in an encoder of L layers, 3 L in a decoder
// (Radford et al. 2019).
InitRule init_rule(const ModelConfig& config) {
  const Initializer chosen = std::map<std::string, Initializer>{
      {"default", {}},
      {"xavier_uniform", init::xavier_uniform()},
      {"xavier_normal", init::xavier_normal()},
      {"kaiming_uniform", init::kaiming_uniform()},
      {"kaiming_normal", init::kaiming_normal()},
      {"trunc_normal", init::trunc_normal(config.init_std)},
      {"orthogonal",
       init::orthogonal()}}.at(config.init);
  if (!chosen && !config.init_scaled_residuals) return {};
  return [chosen, scales = config.init_scaled_residuals, layers = double(config.layers)](
             const std::string& name, WeightDecay weight_decay, const Initializer& own) {
    const auto ends = [&](const char* a, const char* b) {
      return name.ends_with(a) || name.ends_with(b);
    };
    // A linear layer or a projection of attention. The table of positions and the weights of
    // additive scores have other names.
    const bool projection = weight_decay == WeightDecay::on && ends(".weight", "proj_weight");
    Initializer result = own;
    if (chosen && projection) result = chosen;
    if (chosen && ends(".bias", "in_proj_bias")) result = init::zeros();
    if (!scales || !ends("out_proj.weight", "linear2.weight")) return result;
    const double sublayers = (name.starts_with("decoder.") ? 3 : 2) * layers;
    return init::scaled(std::move(result), 1 / std::sqrt(sublayers));
  };
}

// Float models in mixed precision.
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
  check_causal(config, shape);
  const Scope<T> root = parameters.root();
  if (!config.kind.starts_with("encoder")) {
    return std::make_unique<WindowMlp<T>>(root, window_mlp_options(config, shape));
  }
  check_room<T>(config);
  const InputOptions input = input_options(config, shape);
  const EncoderOptions encoder = encoder_options(config);
  if (config.kind == "encoder_decoder") {
    const EncoderDecoderOptions options{input, encoder, shape.classes, shape.max_outputs,
                                        config.stablemax};
    return std::make_unique<EncoderDecoderModel<T>>(root, options);
  }
  return std::make_unique<EncoderModel<T>>(
      root, EncoderModelOptions{.input = input,
                                .encoder = encoder,
                                .adjacency = config.mask == "adjacency",
                                .pool = pool(config, shape),
                                .classes = shape.classes,
                                .stablemax = config.stablemax});
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
  if (found == checkpoint.state.end()) return "";
  const auto* name = std::get_if<std::string>(&found->second);
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

// The rows of [model] in the table of keys.
#include <algorithm>
#include <string_view>

#include <xgrad/data/options.hpp>
#include <xgrad/train/config/keys.hpp>

namespace xgrad::detail {

// Defaults of a book's multi-head attention and encoder block (docs/spec.md: S0.12, S1.10).
const std::vector<Preset>& model_presets() {
  static const std::vector<Preset> presets = {
      {"vit_book_mhsa",
       {{"width", 384}, {"heads", 3}, {"dropout", 0.0}, {"attention_dropout", 0.0}}},
      {"vit_book_block",
       {{"width", 384},
        {"heads", 8},
        {"feedforward", 1536},
        {"dropout", 0.0},
        {"attention_dropout", 0.0}}},
  };
  return presets;
}

using M = ModelConfig;

constexpr SectionKeys<M> key{"model", [](Config& c) -> M& { return c.model; }};

// The row of model.preset. A Config stores the values that a preset sets, not its name.
static ConfigKey preset_key() {
  std::string help = "Sets other defaults for this section.";
  std::vector<std::string> names = {"none"};
  for (const auto& [preset, values] : model_presets()) {
    help += (names.size() == 1 ? " " : "; ") + preset;
    names.push_back(preset);
    for (const auto& [key, value] : values) {
      help += (&key == &values[0].first ? ": " : ", ") + key + " " + to_literal(value);
    }
  }
  ConfigKey own;
  own.section = "model";
  own.spec = {
      .name = "preset",
      .fallback = std::string("none"),
      .help = help +
              ". Keys that you set override them; the saved config holds the values, not the name.",
      .choices = names};
  own.get = [](const Config&) { return std::optional<OptionValue>(); };
  own.set = [](Config& config, const OptionValue& value) {
    for (const auto& [preset, values] : model_presets()) {
      if (preset != std::get<std::string>(value)) continue;
      for (const auto& [name, setting] : values) {
        find_config_key("model", name)->set(config, setting);
      }
    }
  };
  return own;
}

// Keys for the kind of model, its sizes and its layers.
static Keys layer_keys() {
  const Limits size = between(1, 65536), size_or_zero = between(0, 65536);
  return {
      preset_key(),
      key("kind", &M::kind, {"encoder", "encoder_decoder", "mlp", "window_mlp"},
          "Kind of model. encoder: one output per token or per sequence; encoder_decoder: "
          "generates its output token by token. Two baselines have no attention: mlp reads each "
          "token alone, window_mlp a window of tokens."),
      key("width", &M::width, size, "Features per token."),
      key("heads", &M::heads, between(1, 1024),
          "Attention heads; must divide width unless head_dim is set."),
      key("head_dim", &M::head_dim, size_or_zero, "Features per head; 0: width / heads."),
      key("layers", &M::layers, between(0, 1024),
          "Number of layers; a decoder has as many as its encoder."),
      key("feedforward", &M::feedforward, between(0, 1048576),
          "Hidden features of the MLP; 0: 4 * width."),
      key("dropout", &M::dropout, kFraction,
          "Dropout rate after each sublayer and inside the MLP."),
      key("attention_dropout", &M::attention_dropout, kFraction,
          "Dropout rate of the attention weights."),
      key("stochastic_depth", &M::stochastic_depth, kFraction,
          "Probability, per example and sublayer, that training skips a sublayer of the last "
          "layer; for layer l of L it is l/L of this value. Sublayers that are not skipped are "
          "scaled by 1 / (1 - rate)."),
      key("norm", &M::norm, {"pre", "post", "sandwich", "none"},
          "Place of the norms. pre: before each sublayer; post: after each residual "
          "addition; sandwich: before and after each sublayer; none: at no sublayer. "
          "model.final_norm is separate."),
      key("normalization", &M::normalization, {"layer", "rms", "batch"},
          "Kind of norm. layer: layer norm; rms: RMS norm; batch: batch norm over all tokens, "
          "which uses the statistics of the batch in evaluation too."),
      key("final_norm", &M::final_norm,
          "Adds a norm after the last layer, with every value of model.norm."),
      key("norm_eps", &M::norm_eps, between(above(0), 1),
          "Epsilon of every norm, added to the variance or mean square."),
      key("activation", &M::activation, {"gelu", "gelu_tanh", "relu", "silu"},
          "Activation of the MLP; gelu is exact, gelu_tanh approximates it."),
  };
}

// Keys for positions, input, output, projections and initial weights.
static Keys input_keys() {
  return {
      key("positions", &M::positions,
          {"none", "learned", "learned_2d", "sinusoidal", "relative_index", "rotary", "alibi",
           "relative_bias"},
          "Position encoding. Added to the tokens: learned, learned_2d (row and column of an image "
          "patch), sinusoidal, relative_index (two features of token i of n: i/n and (-1)^i). "
          "Applied in attention: rotary, "
          "alibi, relative_bias (learned, by distance and head)."),
      key("max_distance", &M::max_distance, between(1, 65535),
          "For relative_bias: distances beyond this share one bias."),
      key("cross_positions", &M::cross_positions,
          "Applies rotary positions in the cross-attention of an encoder_decoder too, for outputs "
          "that correspond to the inputs in order."),
      key("pool", &M::pool, {"cls", "mean", "max", "attention"},
          "How a sequence with one target becomes one vector. cls: a class token; mean, max: over "
          "the tokens; attention: weighted by a learned query."),
      key("stablemax", &M::stablemax,
          "Turns each output x into the logit sign(x) log(1 + |x|). The softmax of these logits is "
          "StableMax, whose probabilities approach 1 more slowly. Needs targets that are classes."),
      key("input", &M::input, {"embedding", "one_hot"},
          "How token ids become vectors. embedding: table lookup; one_hot: linear layer on one-hot "
          "vectors."),
      key("embedding_norm", &M::embedding_norm, "Adds a norm before the first layer, as in BERT."),
      key("window", &M::window, between(1, 65535),
          "For window_mlp: tokens in a window, centre included; odd."),
      key("patch", &M::patch, between(1, 1024), "Side of an image patch, in pixels."),
      key("patch_overlap", &M::patch_overlap, between(0, 1024),
          "Extra pixels on each side of a patch, shared with its neighbours; zeros beyond the "
          "image."),
      key("qkv_bias", &M::qkv_bias, "Adds a bias to queries, keys and values."),
      key("out_bias", &M::out_bias, "Adds a bias to the output projection of attention."),
      key("out_proj", &M::out_proj,
          "Adds an output projection to attention; without it heads * head_dim must equal width."),
      key("init", &M::init,
          {"default", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal",
           "trunc_normal", "orthogonal"},
          "Initial weights of linear layers and attention projections. default: as in PyTorch's "
          "modules, but the bias of attention's output projection is not 0. Other values: the "
          "function of torch.nn.init with this name; biases are 0. "
          "kaiming_uniform, kaiming_normal use the gain of ReLU; trunc_normal is cut at two "
          "standard deviations."),
      key("init_std", &M::init_std, between(above(0), 100),
          "For trunc_normal: standard deviation before the cut."),
      key("init_scaled_residuals", &M::init_scaled_residuals,
          "Divides the initial weights of projections that end a sublayer by sqrt(sublayers), as "
          "GPT-2 does."),
      key("init_from", &M::init_from,
          "Initial weights: a file (safetensors, npz or a checkpoint), or constructed:NAME for an "
          "encoder from the list that `xgrad construct` prints; empty: random weights."),
      key("init_strict", &M::init_strict,
          "Requires init_from to hold exactly the weights of the model. false: loads those that "
          "fit, and the run lists the rest when it starts."),
      key("init_noise", &M::init_noise, between(0, 100),
          "Adds normal noise of this standard deviation to the weights of init_from; it depends on "
          "train.seed."),
  };
}

// Keys for attention masks, scores and weights.
static Keys attention_keys() {
  return {
      key("mask", &M::mask, {"none", "causal", "adjacency"},
          "Tokens that a token attends to. none: all; causal: itself and earlier ones; "
          "adjacency: itself and its neighbours in a graph."),
      key("exclude_self", &M::exclude_self, "Keeps tokens from attending to themselves."),
      key("score", &M::score, {"dot", "cosine", "additive"},
          "How a query and a key are compared. dot: q.k; cosine: their cosine; additive: w.tanh(q "
          "+ k)."),
      key("scale", &M::scale, kNotNegative,
          "Multiplies the scores; 0: 1/sqrt(head_dim) for dot, sqrt(head_dim) for cosine, 1 for "
          "additive."),
      key("temperature", &M::temperature, kPositive, "Divides the scores."),
      key("log_scale", &M::log_scale,
          "Multiplies the scores by log(n), where n is the number of attended tokens."),
      key("attention_activation", &M::attention_activation,
          {"softmax", "relu", "squared_relu", "sigmoid", "sparsemax"},
          "Turns scores into attention weights."),
      key("attention_mean", &M::attention_mean,
          "Divides the attention weights by the number of attended tokens."),
  };
}

// Keys that every kind of model has. All other keys belong to the built-in kinds. A kind that a
// program adds has the ones in its PartEntry::keys.
constexpr std::string_view kForAll[] = {"preset", "kind", "init_from", "init_strict", "init_noise"};

Keys model_keys() {
  Keys keys = all_of({layer_keys(), input_keys(), attention_keys()});
  const auto name_of = [](const ConfigKey& key) { return key.spec.name; };
  const std::vector<std::string> kinds = std::ranges::find(keys, "kind", name_of)->spec.choices;
  for (ConfigKey& key : keys) {
    if (std::ranges::count(kForAll, key.spec.name) == 0) key.users = kinds;
  }
  return keys;
}

}  // namespace xgrad::detail

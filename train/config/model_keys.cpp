// The rows of [model].
#include <algorithm>
#include <array>

#include <xgrad/data/option_text.hpp>
#include <xgrad/train/config/section_keys.hpp>

namespace xgrad::detail {

// The default arguments of a book's multi-head attention (S0.12) and of its encoder block (S1.10).
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

namespace {

using M = ModelConfig;

constexpr SectionKeys<M> key{"model", [](Config& c) -> M& { return c.model; }};

// The row of model.preset. A Config stores the values that a preset sets, not its name.
ConfigKey preset_key() {
  std::string help = "Sets other defaults for this section.";
  std::vector<std::string> names = {"none"};
  for (const Preset& preset : model_presets()) {
    help += (names.size() == 1 ? " " : "; ") + preset.name;
    names.push_back(preset.name);
    for (const auto& [key, value] : preset.values) {
      help += (&key == &preset.values[0].first ? ": " : ", ") + key + " " + to_literal(value);
    }
  }
  ConfigKey own;
  own.section = "model";
  own.spec = {
      .name = "preset",
      .fallback = std::string("none"),
      .help = help + ". Keys that you set win; the saved config holds the values, not the name.",
      .choices = names};
  own.get = [](const Config&) { return std::optional<OptionValue>(); };
  own.set = [](Config& config, const OptionValue& value) {
    for (const Preset& preset : model_presets()) {
      if (preset.name != std::get<std::string>(value)) continue;
      for (const auto& [name, setting] : preset.values) {
        find_config_key("model", name)->set(config, setting);
      }
    }
  };
  return own;
}

// Keys for the kind of model, its sizes and its layers.
Keys layer_keys() {
  const Limits size = between(1, 65536), size_or_zero = between(0, 65536);
  return {
      preset_key(),
      key("kind", &M::kind,
          "The model. encoder_decoder writes its output token by token. Baselines without "
          "attention: mlp reads each token alone, window_mlp a window of tokens.",
          {"encoder", "encoder_decoder", "mlp", "window_mlp"}),
      key("width", &M::width, "Features per token.", size),
      key("heads", &M::heads, "Attention heads; must divide width unless head_dim is set.",
          between(1, 1024)),
      key("head_dim", &M::head_dim, "Features per head; 0: width / heads.", size_or_zero),
      key("layers", &M::layers, "Number of layers; a decoder has as many as its encoder.",
          between(0, 1024)),
      key("feedforward", &M::feedforward, "Hidden features of the MLP; 0: 4 * width.",
          between(0, 1048576)),
      key("dropout", &M::dropout, "Dropout rate after each sublayer and inside the MLP.",
          kFraction),
      key("attention_dropout", &M::attention_dropout, "Dropout rate of the attention weights.",
          kFraction),
      key("stochastic_depth", &M::stochastic_depth,
          "Rate at which training skips both sublayers of the last layer, each for each example; "
          "layer l of L has l/L of it. The others are scaled by 1 / (1 - rate).",
          kFraction),
      key("norm", &M::norm,
          "Where a layer normalises. pre: before each sublayer; post: after each residual "
          "addition; sandwich: before and after each sublayer; none: nowhere.",
          {"pre", "post", "sandwich", "none"}),
      key("normalization", &M::normalization,
          "Kind of norm. layer: layer norm; rms: RMS norm; batch: batch norm over all tokens, "
          "which uses the statistics of the batch in evaluation too.",
          {"layer", "rms", "batch"}),
      key("final_norm", &M::final_norm, "Adds a norm after the last layer."),
      key("norm_eps", &M::norm_eps, "Epsilon of every norm, added to the variance or mean square.",
          between(above(0), 1)),
      key("activation", &M::activation,
          "Activation of the MLP; gelu is exact, gelu_tanh approximates it.",
          {"gelu", "gelu_tanh", "relu", "silu"}),
  };
}

// Keys for positions, input, output, projections and initial weights.
Keys input_keys() {
  return {
      key("positions", &M::positions,
          "Position encoding. Added to the tokens: learned, learned_2d (row and column of an image "
          "patch), sinusoidal, relative_index (i/n and (-1)^i). Applied in attention: rotary, "
          "alibi, relative_bias (learned, by distance and head).",
          {"none", "learned", "learned_2d", "sinusoidal", "relative_index", "rotary", "alibi",
           "relative_bias"}),
      key("max_distance", &M::max_distance,
          "For relative_bias: distances beyond this share one bias.", between(1, 65535)),
      key("cross_positions", &M::cross_positions,
          "Lets rotary positions of an encoder_decoder also compare the place of an output with "
          "those of the inputs, for outputs that follow the inputs one by one."),
      key("pool", &M::pool,
          "How a sequence with one target becomes one vector. cls: a class token; mean, max: over "
          "the tokens; attention: weighted by a learned query.",
          {"cls", "mean", "max", "attention"}),
      key("input", &M::input,
          "How token ids become vectors. embedding: table lookup; one_hot: linear layer on one-hot "
          "vectors.",
          {"embedding", "one_hot"}),
      key("embedding_norm", &M::embedding_norm, "Adds a norm before the first layer, as in BERT."),
      key("window", &M::window, "For window_mlp: tokens in a window, centre included; odd.",
          between(1, 65535)),
      key("patch", &M::patch, "Side of an image patch, in pixels.", between(1, 1024)),
      key("patch_overlap", &M::patch_overlap,
          "Pixels that a patch has more on each side, which it shares with its neighbours; zeros "
          "beyond the image.",
          between(0, 1024)),
      key("qkv_bias", &M::qkv_bias, "Adds a bias to queries, keys and values."),
      key("out_bias", &M::out_bias, "Adds a bias to the output projection of attention."),
      key("out_proj", &M::out_proj,
          "Output projection of attention; without it heads * head_dim must equal width."),
      key("init", &M::init,
          "Initial weights of linear layers and attention projections. default: as in PyTorch's "
          "modules. Other values are the functions of torch.nn.init, with biases at 0: "
          "kaiming_uniform, kaiming_normal have the gain of ReLU; trunc_normal is cut at two "
          "standard deviations.",
          {"default", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal",
           "trunc_normal", "orthogonal"}),
      key("init_std", &M::init_std, "For trunc_normal: standard deviation before the cut.",
          between(above(0), 100)),
      key("init_scaled_residuals", &M::init_scaled_residuals,
          "Divides the initial weights of projections that end a sublayer by sqrt(sublayers), as "
          "GPT-2 does."),
      key("init_from", &M::init_from,
          "Initial weights: a file (safetensors, npz or a checkpoint), or constructed:NAME for "
          "those of "
          "an encoder that `xgrad construct` lists; empty: random weights."),
      key("init_strict", &M::init_strict,
          "Requires init_from to hold exactly the weights of the model. false: loads those that "
          "fit, and the run lists the rest when it starts."),
      key("init_noise", &M::init_noise,
          "Adds normal noise of this standard deviation to the weights of init_from; it depends on "
          "train.seed.",
          between(0, 100)),
  };
}

// Keys for attention masks, scores and weights.
Keys attention_keys() {
  return {
      key("mask", &M::mask,
          "What a token attends to. none: all tokens; causal: itself and earlier tokens; "
          "adjacency: itself and its neighbours in a graph.",
          {"none", "causal", "adjacency"}),
      key("exclude_self", &M::exclude_self, "Keeps tokens from attending to themselves."),
      key("score", &M::score,
          "How a query and a key are compared. dot: q.k; cosine: their cosine; additive: w.tanh(q "
          "+ k).",
          {"dot", "cosine", "additive"}),
      key("scale", &M::scale,
          "Multiplies the scores; 0: 1/sqrt(head_dim) for dot, sqrt(head_dim) for cosine, 1 for "
          "additive.",
          at_least(0)),
      key("temperature", &M::temperature, "Divides the scores.", at_least(above(0))),
      key("log_scale", &M::log_scale,
          "Multiplies the scores by log(n), where n is the number of attended tokens."),
      key("attention_activation", &M::attention_activation, "Turns scores into attention weights.",
          {"softmax", "relu", "squared_relu", "sigmoid", "sparsemax"}),
      key("attention_mean", &M::attention_mean,
          "Divides the attention weights by the number of attended tokens."),
  };
}

// Keys that count for every kind of model. All others are for built-in kinds, and for those of the
// program that name them.
constexpr std::array kForAll = {"preset", "kind", "init_from", "init_strict", "init_noise"};

}  // namespace

Keys model_keys() {
  Keys keys = all_of({layer_keys(), input_keys(), attention_keys()});
  const auto is_kind = [](const ConfigKey& key) { return key.spec.name == "kind"; };
  const std::vector<std::string> kinds =
      std::find_if(keys.begin(), keys.end(), is_kind)->spec.choices;
  for (ConfigKey& key : keys) {
    if (std::find(kForAll.begin(), kForAll.end(), key.spec.name) == kForAll.end()) {
      key.users = kinds;
    }
  }
  return keys;
}

}  // namespace xgrad::detail

#include <xgrad/train/export/export.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xmanipulation.hpp>
#include <xtensor/xview.hpp>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/options.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/config/keys.hpp>

namespace xgrad {

namespace {

using Tensors = std::vector<NamedTensor>;

// How to convert models for a library.
struct Library {
  std::string name, model;
  KnownModel known;   // settings that the library's model supports
  const char* words;  // pairs, applied in order: part of xgrad's name, its replacement
  std::string (*constructor)(const Config&, const TaskShape&);
  bool needs_qkv_bias = false;
  // For models of tokens: separate query, key and value, and an embedding table for one token type.
  // If false, the library's models read images.
  bool as_bert = false;
};

constexpr std::string_view kPacked = ".self_attn.in_proj_";

template <class F>
AnyTensor changed(const AnyTensor& tensor, const F& f) {
  return std::visit([&](const auto& x) { return AnyTensor(f(x)); }, tensor);
}

template <class T>
Tensor<T> reshaped(Tensor<T> x, const Shape& shape) {
  x.reshape(shape);
  return x;
}

// Adds a bias of zeros after each packed weight, unless they have biases.
Tensors with_qkv_bias(const Tensors& tensors) {
  Tensors result;
  for (const NamedTensor& t : tensors) {
    if (t.name.ends_with(".self_attn.in_proj_bias")) return tensors;
    result.push_back(t);
    if (!t.name.ends_with(".self_attn.in_proj_weight")) continue;
    result.push_back(
        {t.name.substr(0, t.name.rfind("weight")) + "bias",
         changed(t.tensor, []<class T>(const Tensor<T>& x) { return zeros<T>({x.shape()[0]}); })});
  }
  return result;
}

// Splits packed projections. Appends the class token to the word embeddings. BERT's pooler, which
// lies between the class token and the head, gets identity weights.
Tensors as_bert(const Tensors& tensors) {
  Tensors result;
  const auto add = [&](const std::string& name, const AnyTensor& tensor, const auto& make) {
    result.push_back({name, changed(tensor, make)});
  };
  const auto token = std::ranges::find(tensors, "embedding.class_token", &NamedTensor::name);
  const bool classed = token != tensors.end();
  for (const NamedTensor& t : tensors) {
    const std::size_t at = t.name.find(kPacked);
    if (t.name == "embedding.token.weight") {
      add("bert.embeddings.token_type_embeddings.weight", t.tensor,
          []<class T>(const Tensor<T>& x) {
            return zeros<T>({1, x.shape()[1]});
          });
      add(t.name, t.tensor, [&]<class T>(const Tensor<T>& x) {
        if (!classed) return x;
        const auto& row = std::get<Tensor<T>>(token->tensor);
        return Tensor<T>(xt::concatenate(xt::xtuple(x, reshaped(row, {1, row.size()}))));
      });
    } else if (at != t.name.npos) {
      const std::string what = t.name.substr(at + kPacked.size());
      std::size_t row = 0;
      for (const char* name : {"query", "key", "value"}) {
        add(fmt::format("{}.self_attn.{}.{}", t.name.substr(0, at), name, what), t.tensor,
            [&]<class T>(const Tensor<T>& x) {
              const std::size_t first = std::exchange(row, row + x.shape(0) / 3);
              return Tensor<T>(xt::view(x, xt::range(first, row)));
            });
      }
    } else if (!classed || &t != &*token) {
      result.push_back(t);
    }
  }
  if (!classed) return result;
  add("bert.pooler.dense.weight", token->tensor,
      []<class T>(const Tensor<T>& x) { return Tensor<T>(xt::eye<T>(x.size())); });
  add("bert.pooler.dense.bias", token->tensor,
      []<class T>(const Tensor<T>& x) { return zeros<T>({x.size()}); });
  return result;
}

// Shapes for image models: class token and positions for a batch of one, patch embedding
// (D, P P C) as the kernels (D, C, P, P) of a convolution.
void shape_as_of_images(const Config& config, Tensors& tensors) {
  const std::size_t width = config.model.width, side = config.model.patch;
  for (NamedTensor& t : tensors) {
    const bool kernels = t.name == "embedding.patch.weight";
    if (!kernels && t.name != "embedding.class_token" && t.name != "embedding.position.weight") {
      continue;
    }
    t.tensor = changed(t.tensor, [&]<class T>(const Tensor<T>& x) -> Tensor<T> {
      if (!kernels) return reshaped(x, {1, x.size() / width, width});
      const std::size_t channels = x.shape(1) / (side * side);
      return xt::transpose(reshaped(x, {x.shape(0), side, side, channels}), {0, 3, 1, 2});
    });
  }
}

std::size_t hidden(const ModelConfig& model) {
  return model.feedforward == 0 ? 4 * model.width : model.feedforward;
}

// Settings that all three libraries support: learned positions, width divided by heads, norms with
// a bias. `own` adds the settings of one library.
KnownModel supported(KnownModel own) {
  own.merge(KnownModel{{"normalization", {"layer"}}, {"positions", {"learned"}}});
  own.merge(plain_encoder());
  for (const char* fixed : {"head_dim", "out_bias", "patch_overlap", "stablemax"}) own.erase(fixed);
  return own;
}

// timm multiplies the ratio by the width and rounds down. Half a feature more makes sure that a
// rounding error does not lose a feature.
std::string mlp_ratio(std::size_t hidden, std::size_t width) {
  const bool exact = std::size_t(double(width) * (double(hidden) / double(width))) == hidden;
  return fmt::format("{}{} / {}", hidden, exact ? "" : ".5", width);
}

std::string timm_constructor(const Config& config, const TaskShape& shape) {
  const ModelConfig& m = config.model;
  const std::map<std::string, std::string> activations = {
      {"gelu", "torch.nn.GELU"},
      {"gelu_tanh", "functools.partial(torch.nn.GELU, approximate=\"tanh\")"},
      {"relu", "torch.nn.ReLU"},
      {"silu", "torch.nn.SiLU"}};
  return fmt::format(
      "timm.models.vision_transformer.VisionTransformer(img_size={}, patch_size={}, in_chans={}, "
      "num_classes={}, embed_dim={}, depth={}, num_heads={}, mlp_ratio={}, qkv_bias={}, {}"
      "act_layer={}, norm_layer=functools.partial(torch.nn.LayerNorm, eps={}))",
      shape.height, m.patch, shape.channels, shape.classes, m.width, m.layers, m.heads,
      mlp_ratio(hidden(m), m.width), m.qkv_bias ? "True" : "False",
      m.pool == "mean" ? "class_token=False, global_pool=\"avg\", fc_norm=False, " : "",
      activations.at(m.activation), m.norm_eps);
}

// The class supports only colour images; for others its first layer has to be replaced.
std::string torchvision_constructor(const Config& config, const TaskShape& shape) {
  const ModelConfig& m = config.model;
  std::string text = fmt::format(
      "torchvision.models.VisionTransformer(image_size={}, patch_size={}, num_layers={}, "
      "num_heads={}, hidden_dim={}, mlp_dim={}, num_classes={}, "
      "norm_layer=functools.partial(torch.nn.LayerNorm, eps={}))",
      shape.height, m.patch, m.layers, m.heads, m.width, hidden(m), shape.classes, m.norm_eps);
  if (shape.channels != 3) {
    text += fmt::format("\nmodel.conv_proj = torch.nn.Conv2d({}, {}, {}, {})", shape.channels,
                        m.width, m.patch, m.patch);
  }
  return text;
}

std::string bert_constructor(const Config& config, const TaskShape& shape) {
  const ModelConfig& m = config.model;
  const std::map<std::string, std::string> activations = {
      {"gelu", "gelu"}, {"gelu_tanh", "gelu_new"}, {"relu", "relu"}, {"silu", "silu"}};
  const std::map<TargetKind, std::string> problems = {
      {TargetKind::classes, "single_label_classification"},
      {TargetKind::numbers, "regression"},
      {TargetKind::binary, "multi_label_classification"}};
  const bool sequence = shape.output == OutputKind::sequence;
  std::string text = fmt::format(
      "transformers.BertFor{}Classification(transformers.BertConfig(vocab_size={}, "
      "hidden_size={}, num_hidden_layers={}, num_attention_heads={}, intermediate_size={}, "
      "hidden_act=\"{}\", max_position_embeddings={}, type_vocab_size=1, layer_norm_eps={}, "
      "num_labels={}",
      sequence ? "Sequence" : "Token", shape.vocabulary + sequence, m.width, m.layers, m.heads,
      hidden(m), activations.at(m.activation), shape.max_length + sequence, m.norm_eps,
      shape.classes);
  if (!sequence) return text + "))";
  return text + fmt::format(
                    ", problem_type=\"{}\"))\nmodel.bert.pooler.activation = torch.nn.Identity()"
                    "  # and inputs begin with the class token, {}",
                    problems.at(shape.target), shape.vocabulary);
}

const Library kLibraries[] = {
    {"timm", "timm VisionTransformer", supported({{"norm", {"pre"}}, {"final_norm", {"true"}}}),
     "encoder.layers. blocks. encoder.norm. norm. self_attn.in_proj_ attn.qkv. "
     "self_attn.out_proj. attn.proj. linear1. mlp.fc1. linear2. mlp.fc2. "
     "embedding.patch. patch_embed.proj. embedding.class_token cls_token "
     "embedding.position.weight pos_embed",
     timm_constructor},
    {"torchvision", "torchvision VisionTransformer",
     supported({{"norm", {"pre"}},
                {"final_norm", {"true"}},
                {"pool", {"cls"}},
                {"activation", {"gelu"}}}),
     "encoder.layers. encoder.layers.encoder_layer_ encoder.norm. encoder.ln. "
     ".self_attn. .self_attention. .norm1. .ln_1. .norm2. .ln_2. .linear1. .mlp.0. "
     ".linear2. .mlp.3. embedding.patch. conv_proj. embedding.class_token class_token "
     "embedding.position.weight encoder.pos_embedding head. heads.head.",
     torchvision_constructor, /*needs_qkv_bias=*/true},
    {"hf-bert", "BERT of Hugging Face",
     supported({{"norm", {"post"}}, {"final_norm", {"false"}}, {"embedding_norm", {"true"}}}),
     "encoder.layers. bert.encoder.layer. .self_attn.out_proj. .attention.output.dense. "
     ".self_attn. .attention.self. .norm1. .attention.output.LayerNorm. "
     ".norm2. .output.LayerNorm. .linear1. .intermediate.dense. .linear2. .output.dense. "
     "embedding.token. bert.embeddings.word_embeddings. "
     "embedding.position. bert.embeddings.position_embeddings. "
     "embedding.norm. bert.embeddings.LayerNorm. head. classifier.",
     bert_constructor, /*needs_qkv_bias=*/true, /*as_bert=*/true}};

std::string renamed(std::string name, const Library& library) {
  std::istringstream words(library.words);
  for (std::string ours, theirs; words >> ours >> theirs;) {
    const std::size_t at = name.find(ours);
    if (at != name.npos) name.replace(at, ours.size(), theirs);
  }
  return name;
}

}  // namespace

KnownModel plain_encoder() {
  KnownModel known = {{"kind", {"encoder"}},
                      {"norm", {"pre", "post", "sandwich", "none"}},
                      {"normalization", {"layer", "rms"}},
                      {"activation", {"gelu", "gelu_tanh", "relu", "silu"}},
                      {"positions", {"none", "learned", "sinusoidal"}},
                      {"pool", {"cls", "mean"}}};
  std::istringstream any(
      "width heads head_dim layers feedforward dropout attention_dropout stochastic_depth "
      "final_norm norm_eps stablemax patch patch_overlap qkv_bias out_bias init init_std "
      "init_scaled_residuals init_from init_strict init_noise");
  for (std::string key; any >> key;) known[key] = {};
  return known;
}

std::vector<std::string> unknown_settings(const Config& config, const KnownModel& known) {
  std::vector<std::string> unknown;
  for (const detail::ConfigKey& key : detail::config_keys()) {
    if (key.section != "model") continue;
    const std::optional<OptionValue> value = key.get(config);
    const auto found = known.find(key.spec.name);
    if (!value || (found == known.end() ? *value == key.spec.fallback : found->second.empty())) {
      continue;
    }
    const auto* text = std::get_if<std::string>(&*value);
    const std::string word = text ? *text : to_literal(*value);
    if (found != known.end() && std::ranges::count(found->second, word) > 0) continue;
    unknown.push_back(key.name() + " = " + to_literal(*value));
  }
  return unknown;
}

std::vector<std::string> library_names() {
  std::vector<std::string> names;
  for (const Library& library : kLibraries) names.push_back(library.name);
  return names;
}

LibraryModel to_library(const std::string& library, const Config& config, const TaskShape& shape,
                        const std::vector<NamedTensor>& parameters) {
  const auto found = std::ranges::find(kLibraries, library, &Library::name);
  check<ConfigError>(found != std::end(kLibraries), "there is no library ", library, "; there are ",
                     joined(library_names()));
  KnownModel known = found->known;
  if (found->as_bert && shape.output == OutputKind::sequence) known["pool"] = {"cls"};
  std::vector<std::string> differences = unknown_settings(config, known);
  const bool images = !found->as_bert;
  const std::pair<bool, const char*> others[] = {
      {!images && shape.input != InputKind::tokens, "a task without tokens"},
      {images && shape.input != InputKind::image, "a task without images"},
      {images && shape.output != OutputKind::sequence, "a target for each patch"},
      {images && shape.height != shape.width, "images that are not square"}};
  for (const auto& [differs, what] : others) {
    if (differs) differences.push_back(what);
  }
  check<ConfigError>(differences.empty(), "the model does not fit ", found->model, ": ",
                     joined(differences));

  Tensors tensors = found->needs_qkv_bias ? with_qkv_bias(parameters) : parameters;
  if (found->as_bert) tensors = as_bert(tensors);
  if (shape.input == InputKind::image) shape_as_of_images(config, tensors);
  for (NamedTensor& t : tensors) t.name = renamed(t.name, *found);
  return {tensors, found->constructor(config, shape)};
}

}  // namespace xgrad

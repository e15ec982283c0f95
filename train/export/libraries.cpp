#include <fmt/format.h>

#include <xgrad/train/export/known_model.hpp>
#include <xgrad/train/export/naming.hpp>

namespace xgrad::detail {

namespace {

using Words = std::vector<std::string>;

std::size_t hidden(const ModelConfig& model) {
  return model.feedforward == 0 ? 4 * model.width : model.feedforward;
}

// Settings that all three libraries support: learned positions, width divided by heads, norms with
// a bias.
KnownModel common() {
  KnownModel known = plain_encoder();
  for (const char* fixed : {"head_dim", "out_bias", "patch_overlap"}) known.erase(fixed);
  known["normalization"] = {"layer"};
  known["positions"] = {"learned"};
  return known;
}

KnownModel vision_transformer() {
  KnownModel known = common();
  known["norm"] = {"pre"};
  known["final_norm"] = {"true"};
  return known;
}

void add_image_differences(const TaskShape& shape, Words& differences) {
  if (shape.input != InputKind::image) differences.push_back("a task without images");
  if (shape.output != OutputKind::sequence) differences.push_back("a target for each patch");
  if (shape.height != shape.width) differences.push_back("images that are not square");
}

Words timm_differences(const Config& config, const TaskShape& shape) {
  Words result = unknown_settings(config, vision_transformer());
  add_image_differences(shape, result);
  return result;
}

// timm multiplies the ratio by the width again and rounds down; a half more keeps that from losing
// one.
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

Words torchvision_differences(const Config& config, const TaskShape& shape) {
  KnownModel known = vision_transformer();
  known["pool"] = {"cls"};
  known["activation"] = {"gelu"};
  Words result = unknown_settings(config, known);
  add_image_differences(shape, result);
  return result;
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

Words bert_differences(const Config& config, const TaskShape& shape) {
  KnownModel known = common();
  known["norm"] = {"post"};
  known["final_norm"] = {"false"};
  known["embedding_norm"] = {"true"};
  if (shape.output == OutputKind::sequence) known["pool"] = {"cls"};
  Words result = unknown_settings(config, known);
  if (shape.input != InputKind::tokens) result.push_back("a task without tokens");
  return result;
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

}  // namespace

const std::vector<Library>& libraries() {
  static const std::vector<Library> rows = {
      {"timm",
       "timm VisionTransformer",
       timm_differences,
       {{"encoder.layers.", "blocks."},
        {"encoder.norm.", "norm."},
        {"self_attn.in_proj_", "attn.qkv."},
        {"self_attn.out_proj.", "attn.proj."},
        {"linear1.", "mlp.fc1."},
        {"linear2.", "mlp.fc2."},
        {"embedding.patch.", "patch_embed.proj."},
        {"embedding.class_token", "cls_token"},
        {"embedding.position.weight", "pos_embed"}},
       false,
       false,
       timm_constructor},
      {"torchvision",
       "torchvision VisionTransformer",
       torchvision_differences,
       {{"encoder.layers.", "encoder.layers.encoder_layer_"},
        {"encoder.norm.", "encoder.ln."},
        {".self_attn.", ".self_attention."},
        {".norm1.", ".ln_1."},
        {".norm2.", ".ln_2."},
        {".linear1.", ".mlp.0."},
        {".linear2.", ".mlp.3."},
        {"embedding.patch.", "conv_proj."},
        {"embedding.class_token", "class_token"},
        {"embedding.position.weight", "encoder.pos_embedding"},
        {"head.", "heads.head."}},
       true,
       false,
       torchvision_constructor},
      {"hf-bert",
       "BERT of Hugging Face",
       bert_differences,
       {{"encoder.layers.", "bert.encoder.layer."},
        {".self_attn.out_proj.", ".attention.output.dense."},
        {".self_attn.", ".attention.self."},
        {".norm1.", ".attention.output.LayerNorm."},
        {".norm2.", ".output.LayerNorm."},
        {".linear1.", ".intermediate.dense."},
        {".linear2.", ".output.dense."},
        {"embedding.token.", "bert.embeddings.word_embeddings."},
        {"embedding.position.", "bert.embeddings.position_embeddings."},
        {"embedding.norm.", "bert.embeddings.LayerNorm."},
        {"head.", "classifier."}},
       true,
       true,
       bert_constructor}};
  return rows;
}

}  // namespace xgrad::detail

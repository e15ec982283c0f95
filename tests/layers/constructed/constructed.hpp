// An encoder whose weights are written down instead of trained. docs/constructed-encoders.md tells
// what for.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <xgrad/layers/models/models.hpp>

#include "support/tensors.hpp"

namespace xgrad::test {

/// The ordinary EncoderModel in double, without norms and dropout and with relu; every parameter is
/// 0 until it is set. Each setter names one weight: what goes from a feature to a feature.
class Constructed {
 public:
  explicit Constructed(EncoderModelOptions options)
      : options_(plain(std::move(options))), parameters_(1), model_(parameters_.root(), options_) {
    for (const Parameter<double>& p : parameters_) {
      Tensor<double>& value = p.variable.mutable_value();
      std::fill_n(value.data(), value.size(), 0.0);
    }
  }
  Constructed(const Constructed&) = delete;

  double& token(std::size_t id, std::size_t to) { return at("embedding.token.weight", id, to); }
  double& class_token(std::size_t to) { return value("embedding.class_token")(to); }
  /// Of learned positions, or of the features of relative_index.
  double& position(std::size_t row, std::size_t column) {
    return at("embedding.position.weight", row, column);
  }

  /// Feature `from` of a token to feature `to` of a head's query, key or value.
  double& query(std::size_t layer, std::size_t head, std::size_t from, std::size_t to) {
    return projection(layer, 0, head, from, to);
  }
  double& key(std::size_t layer, std::size_t head, std::size_t from, std::size_t to) {
    return projection(layer, 1, head, from, to);
  }
  double& attended(std::size_t layer, std::size_t head, std::size_t from, std::size_t to) {
    return projection(layer, 2, head, from, to);
  }
  /// Feature `from` of a head's result to feature `to` of the token.
  double& output(std::size_t layer, std::size_t head, std::size_t from, std::size_t to) {
    return at(place(layer) + "self_attn.out_proj.weight", to, head * head_dim() + from);
  }

  double& hidden(std::size_t layer, std::size_t from, std::size_t to) {
    return at(place(layer) + "linear1.weight", to, from);
  }
  double& hidden_bias(std::size_t layer, std::size_t to) {
    return value(place(layer) + "linear1.bias")(to);
  }
  double& mlp(std::size_t layer, std::size_t from, std::size_t to) {
    return at(place(layer) + "linear2.weight", to, from);
  }

  double& logit(std::size_t from, std::size_t to) { return at("head.weight", to, from); }
  double& logit_bias(std::size_t to) { return value("head.bias")(to); }

  /// Logits of sequences side by side, padded to the longest: (B, N, classes), or (B, classes) when
  /// pooled.
  Tensor<double> operator()(const std::vector<std::vector<std::int32_t>>& rows) const {
    std::size_t longest = 0;
    for (const auto& row : rows) longest = std::max(longest, row.size());
    Ids ids = zeros<std::int32_t>({rows.size(), longest});
    auto mask = std::make_shared<Mask>(zeros<std::uint8_t>({rows.size(), longest}));
    for (std::size_t b = 0; b < rows.size(); ++b) {
      std::copy(rows[b].begin(), rows[b].end(), ids.data() + b * longest);
      std::fill_n(mask->data() + b * longest, rows[b].size(), std::uint8_t(1));
    }
    ModelInput<double> input;
    input.ids = &ids;
    input.mask = mask;
    return model_(input, {}).value();
  }

 private:
  static EncoderModelOptions plain(EncoderModelOptions options) {
    options.encoder.norm = NormOrder::none;
    options.encoder.final_norm = false;
    options.encoder.activation = Activation::relu;
    return options;
  }
  static std::string place(std::size_t layer) {
    return "encoder.layers." + std::to_string(layer) + ".";
  }
  Tensor<double>& value(const std::string& name) { return parameters_.at(name).mutable_value(); }
  double& at(const std::string& name, std::size_t row, std::size_t column) {
    return value(name)(row, column);
  }
  std::size_t head_dim() const {
    const MultiHeadAttentionOptions& o = options_.encoder.attention;
    return o.head_dim != 0 ? o.head_dim : o.width / o.heads;
  }
  double& projection(std::size_t layer, std::size_t part, std::size_t head, std::size_t from,
                     std::size_t to) {
    const std::size_t heads = options_.encoder.attention.heads;
    return at(place(layer) + "self_attn.in_proj_weight", (part * heads + head) * head_dim() + to,
              from);
  }

  EncoderModelOptions options_;
  Parameters<double> parameters_;
  EncoderModel<double> model_;
};

}  // namespace xgrad::test

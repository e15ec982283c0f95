// WrittenWeights: sets the weights of an encoder one by one. This header is not installed.
#pragma once

#include <string>

#include <xgrad/autograd/parameters.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {

/// The parameters of an EncoderModel, by what they connect: feature `from` of a token to feature
/// `to`. All are 0 at first.
class WrittenWeights {
 public:
  /// Sets all parameters to 0.
  WrittenWeights(const ModelConfig& model, const Parameters<double>& parameters);

  /// The vector of a token.
  double& token(std::size_t id, std::size_t to) { return at("embedding.token.weight", id, to); }
  /// The vector of the class token.
  double& class_token(std::size_t to) { return at("embedding.class_token", to); }
  /// The vector of a learned position, or of the features of relative_index: (row, column) of
  /// embedding.position.weight.
  double& position(std::size_t row, std::size_t column) {
    return at("embedding.position.weight", row, column);
  }

  /// A feature of a head's query.
  double& query(std::size_t layer, std::size_t head, std::size_t from, std::size_t to) {
    return projection(layer, 0, head, from, to);
  }
  /// A feature of a head's key.
  double& key(std::size_t layer, std::size_t head, std::size_t from, std::size_t to) {
    return projection(layer, 1, head, from, to);
  }
  /// A feature of a head's value.
  double& attended(std::size_t layer, std::size_t head, std::size_t from, std::size_t to) {
    return projection(layer, 2, head, from, to);
  }
  /// From a feature of a head's result to a feature of the token.
  double& output(std::size_t layer, std::size_t head, std::size_t from, std::size_t to) {
    return at(place(layer) + "self_attn.out_proj.weight", to, head * head_dim_ + from);
  }

  /// From a feature of the token to a hidden feature of the MLP.
  double& hidden(std::size_t layer, std::size_t from, std::size_t to) {
    return at(place(layer) + "linear1.weight", to, from);
  }
  /// The bias of a hidden feature.
  double& hidden_bias(std::size_t layer, std::size_t to) {
    return at(place(layer) + "linear1.bias", to);
  }
  /// From a hidden feature of the MLP to a feature of the token.
  double& mlp(std::size_t layer, std::size_t from, std::size_t to) {
    return at(place(layer) + "linear2.weight", to, from);
  }

  /// From a feature of the token to a logit.
  double& logit(std::size_t from, std::size_t to) { return at("head.weight", to, from); }
  /// The bias of a logit.
  double& logit_bias(std::size_t to) { return at("head.bias", to); }

 private:
  static std::string place(std::size_t layer) {
    return "encoder.layers." + std::to_string(layer) + ".";
  }
  // An element of a tensor. Throws ConfigError when it is too small, as for another task.
  double& at(const std::string& name, std::size_t row, std::size_t column = 0);
  // in_proj_weight has the queries of all heads, then the keys, then the values.
  double& projection(std::size_t layer, std::size_t part, std::size_t head, std::size_t from,
                     std::size_t to) {
    return at(place(layer) + "self_attn.in_proj_weight", (part * heads_ + head) * head_dim_ + to,
              from);
  }

  std::size_t heads_, head_dim_;
  const Parameters<double>& parameters_;
};

}  // namespace xgrad

#include <xgrad/train/model/initial_weights.hpp>

#include <cmath>
#include <map>

#include <xgrad/layers/init.hpp>

namespace xgrad::detail {

namespace {

// Empty for "default".
Initializer scheme(const ModelConfig& config) {
  const std::map<std::string, Initializer> schemes = {
      {"default", {}},
      {"xavier_uniform", init::xavier_uniform()},
      {"xavier_normal", init::xavier_normal()},
      {"kaiming_uniform", init::kaiming_uniform()},
      {"kaiming_normal", init::kaiming_normal()},
      {"trunc_normal", init::trunc_normal(config.init_std)},
      {"orthogonal", init::orthogonal()}};
  return schemes.at(config.init);
}

// Whether a linear layer or a projection of attention has this weight. The table of positions and
// the weights of additive scores, which have other names, are none.
bool is_projection(const std::string& name, WeightDecay weight_decay) {
  return weight_decay == WeightDecay::on &&
         (name.ends_with(".weight") || name.ends_with("proj_weight"));
}

bool is_bias(const std::string& name) {
  return name.ends_with(".bias") || name.ends_with("in_proj_bias");
}

bool ends_sublayer(const std::string& name) {
  return name.ends_with("out_proj.weight") || name.ends_with("linear2.weight");
}

}  // namespace

InitRule init_rule(const ModelConfig& config) {
  const Initializer chosen = scheme(config);
  if (!chosen && !config.init_scaled_residuals) return {};
  return [chosen, scales = config.init_scaled_residuals, layers = double(config.layers)](
             const std::string& name, WeightDecay weight_decay, const Initializer& own) {
    Initializer result = own;
    if (chosen && is_projection(name, weight_decay)) result = chosen;
    if (chosen && is_bias(name)) result = init::zeros();
    if (!scales || !ends_sublayer(name)) return result;
    const double sublayers = (name.starts_with("decoder.") ? 3 : 2) * layers;
    return init::scaled(std::move(result), 1 / std::sqrt(sublayers));
  };
}

}  // namespace xgrad::detail

#include <xgrad/train/config/rules.hpp>

#include <algorithm>
#include <climits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/excerpt.hpp>
#include <xgrad/data/option_text.hpp>
#include <xgrad/train/config/parts.hpp>

namespace xgrad::detail {

namespace {

using Broken = std::vector<RuleBroken>;

bool has_attention(const ModelConfig& model) {
  return model.kind == "encoder" || model.kind == "encoder_decoder";
}

void heads_divide_width(const Config& config, Broken& broken) {
  const ModelConfig& model = config.model;
  if (!has_attention(model) || model.head_dim != 0 || model.width % model.heads == 0) return;
  broken.push_back({{"model.heads", "model.width", "model.head_dim"},
                    std::to_string(model.heads) + " heads do not divide a width of " +
                        std::to_string(model.width) +
                        "; change one of them, or set model.head_dim"});
}

void without_out_proj_heads_make_the_width(const Config& config, Broken& broken) {
  const ModelConfig& model = config.model;
  const std::size_t made = model.heads * model.head_dim;
  if (model.out_proj || model.head_dim == 0 || made == model.width) return;
  broken.push_back({{"model.out_proj", "model.head_dim", "model.heads", "model.width"},
                    "false needs heads that make the width, but " + std::to_string(model.heads) +
                        " heads of " + std::to_string(model.head_dim) + " features make " +
                        std::to_string(made) + ", and model.width is " +
                        std::to_string(model.width)});
}

void mean_needs_another_activation(const Config& config, Broken& broken) {
  const ModelConfig& model = config.model;
  if (!model.attention_mean || model.attention_activation != "softmax") return;
  broken.push_back({{"model.attention_mean", "model.attention_activation"},
                    "needs another model.attention_activation than \"softmax\", whose weights sum "
                    "to 1 already"});
}

void what_is_not_strict(const Config& config, Broken& broken) {
  if (config.model.init_strict || !config.model.init_from.empty()) return;
  broken.push_back({{"model.init_strict", "model.init_from"},
                    "false needs model.init_from, the weights to start from"});
}

void noise_needs_weights(const Config& config, Broken& broken) {
  if (config.model.init_noise == 0 || !config.model.init_from.empty()) return;
  broken.push_back({{"model.init_noise", "model.init_from"},
                    "needs model.init_from, the weights to add noise to"});
}

void rotary_needs_pairs(const Config& config, Broken& broken) {
  const ModelConfig& model = config.model;
  const std::size_t head_dim = model.head_dim != 0 ? model.head_dim : model.width / model.heads;
  if (!has_attention(model) || model.positions != "rotary" || head_dim % 2 == 0) return;
  // heads_divide_width() reports that.
  if (model.head_dim == 0 && model.width % model.heads != 0) return;
  broken.push_back(
      {{"model.positions", "model.width", "model.heads", "model.head_dim"},
       "rotary needs an even number of features per head, not " + std::to_string(head_dim)});
}

void max_distance_of_relative_bias(const Config& config, Broken& broken) {
  const ModelConfig& model = config.model;
  if (model.max_distance == ModelConfig().max_distance) return;
  if (model.positions == "relative_bias") return;
  broken.push_back(
      {{"model.max_distance", "model.positions"},
       "has an effect only with model.positions = \"relative_bias\", not " + model.positions});
}

void cross_positions_of_rotary(const Config& config, Broken& broken) {
  const ModelConfig& model = config.model;
  if (!model.cross_positions) return;
  if (model.kind == "encoder_decoder" && model.positions == "rotary") return;
  broken.push_back({{"model.cross_positions", "model.kind", "model.positions"},
                    "has an effect only with model.kind = \"encoder_decoder\" and "
                    "model.positions = \"rotary\""});
}

void outputs_have_no_known_length(const Config& config, Broken& broken) {
  if (config.model.kind != "encoder_decoder" || config.model.positions != "relative_index") return;
  broken.push_back({{"model.positions", "model.kind"},
                    "relative_index needs the length of the output, which an encoder_decoder does "
                    "not know in advance"});
}

void outputs_see_only_those_before(const Config& config, Broken& broken) {
  const ModelConfig& model = config.model;
  if (model.kind != "encoder_decoder" || model.normalization != "batch") return;
  broken.push_back({{"model.normalization", "model.kind"},
                    "batch would leak later outputs of an encoder_decoder to earlier ones"});
}

void outputs_read_the_input_in_layers(const Config& config, Broken& broken) {
  if (config.model.kind != "encoder_decoder" || config.model.layers > 0) return;
  broken.push_back({{"model.layers", "model.kind"},
                    "is 0, must be at least 1 for an encoder_decoder, which reads its input in the "
                    "layers of its decoder"});
}

void only_encoders_recompute(const Config& config, Broken& broken) {
  if (!config.train.recompute || has_attention(config.model)) return;
  broken.push_back(
      {{"train.recompute", "model.kind"},
       "recomputes the blocks of an encoder, and a " + config.model.kind + " has none"});
}

void steps_or_epochs(const Config& config, Broken& broken) {
  const TrainConfig& train = config.train;
  if ((train.steps == 0) != (train.epochs == 0)) return;
  broken.push_back({{"train.steps", "train.epochs"},
                    "set exactly one of train.steps and train.epochs, the length of the run"});
}

void window_of_window_mlp(const Config& config, Broken& broken) {
  const ModelConfig& model = config.model;
  if (model.window % 2 == 0) {
    broken.push_back({{"model.window"}, "is " + std::to_string(model.window) + ", must be odd"});
  } else if (model.window != ModelConfig().window && model.kind != "window_mlp") {
    broken.push_back({{"model.window", "model.kind"},
                      "has an effect only with model.kind = \"window_mlp\", not " + model.kind});
  }
}

// The penalty compares the directions of the attention maps of two heads.
void heads_that_can_differ(const Config& config, Broken& broken) {
  if (config.train.head_diversity == 0) return;
  const ModelConfig& model = config.model;
  const auto refuse = [&](const char* key, const std::string& text) {
    broken.push_back({{"train.head_diversity", key}, text});
  };
  if (!has_attention(model)) {
    return refuse("model.kind", "compares attention heads, and a " + model.kind + " has none");
  }
  if (model.heads == 1) refuse("model.heads", "compares heads, and model.heads is 1");
  if (model.layers == 0) refuse("model.layers", "compares heads, and model.layers is 0");
  if (model.attention_activation.ends_with("relu")) {
    refuse(
        "model.attention_activation",
        "compares the directions of attention maps, and maps of model.attention_activation = \"" +
            model.attention_activation + "\" may be all 0");
  }
  if (config.train.recompute) {
    refuse("train.recompute", "needs the attention maps, which train.recompute does not keep");
  }
}

void stochastic_depth_skips_sublayers(const Config& config, Broken& broken) {
  const ModelConfig& model = config.model;
  if (model.stochastic_depth > 0 && !has_attention(model)) {
    broken.push_back({{"model.stochastic_depth", "model.kind"},
                      "skips the sublayers of an encoder, and a " + model.kind + " has none"});
  }
  if (model.init_scaled_residuals && !has_attention(model)) {
    broken.push_back({{"model.init_scaled_residuals", "model.kind"},
                      "is for the sublayers of an encoder, and a " + model.kind + " has none"});
  }
}

void std_of_trunc_normal(const Config& config, Broken& broken) {
  const ModelConfig& model = config.model;
  if (model.init_std == ModelConfig().init_std || model.init == "trunc_normal") return;
  broken.push_back({{"model.init_std", "model.init"},
                    "has an effect only with model.init = \"trunc_normal\", not " + model.init});
}

void rates_that_can_change(const Config& config, Broken& broken) {
  const TrainConfig& train = config.train;
  const ModelConfig& model = config.model;
  if ((train.dropout_start == 1 && train.dropout_end == 1) || !model.own.empty()) return;
  if (model.dropout > 0 || model.attention_dropout > 0 || model.stochastic_depth > 0) return;
  const char* key = train.dropout_start != 1 ? "train.dropout_start" : "train.dropout_end";
  broken.push_back({{key, "model.dropout", "model.attention_dropout", "model.stochastic_depth"},
                    "has no effect, because every dropout rate is 0"});
}

void one_average(const Config& config, Broken& broken) {
  const TrainConfig& train = config.train;
  if (train.swa_start == 0) {
    if (train.swa_every != 1) {
      broken.push_back({{"train.swa_every", "train.swa_start"}, "needs train.swa_start"});
    }
    return;
  }
  if (train.ema > 0) {
    broken.push_back({{"train.swa_start", "train.ema"},
                      "cannot be combined with train.ema: a run keeps one average"});
  }
  if (train.steps > 0 && train.swa_start + train.swa_every > train.steps) {
    broken.push_back({{"train.swa_start", "train.swa_every", "train.steps"},
                      "leaves nothing to average: the first weights are those of step " +
                          std::to_string(train.swa_start + train.swa_every) +
                          ", and train.steps is " + std::to_string(train.steps)});
  }
}

// An epoch has fewer batches while long examples wait.
void curriculum_counts_steps(const Config& config, Broken& broken) {
  const TrainConfig& train = config.train;
  if ((train.curriculum_start == 0) != (train.curriculum_steps == 0)) {
    broken.push_back({{"train.curriculum_start", "train.curriculum_steps"},
                      "set both train.curriculum_start and train.curriculum_steps, or neither"});
  } else if (train.curriculum_start > 0 && train.steps == 0) {
    broken.push_back({{"train.curriculum_start", "train.epochs"},
                      "needs train.steps: an epoch is shorter while long examples wait"});
  }
}

// make_objective() checks whether the loss fits the task's targets.
void what_goes_with_the_loss(const Config& config, Broken& broken) {
  const TrainConfig& train = config.train;
  if (train.huber_delta != TrainConfig().huber_delta && train.loss != "huber") {
    broken.push_back({{"train.huber_delta", "train.loss"},
                      "has an effect only with train.loss = \"huber\", not " + train.loss});
  }
  const bool weighted = train.balanced_classes || !train.class_weights.empty();
  if (weighted && train.loss != "auto" && train.loss != "cross_entropy") {
    broken.push_back(
        {{"train.class_weights", "train.loss"},
         "must be [] unless train.loss is \"auto\" or \"cross_entropy\"; it is " + train.loss});
  }
  if (train.label_smoothing > 0 && train.loss != "auto" && train.loss != "cross_entropy") {
    broken.push_back(
        {{"train.label_smoothing", "train.loss"},
         "must be 0 unless train.loss is \"auto\" or \"cross_entropy\"; it is " + train.loss});
  }
}

// If the length is given in epochs, the trainer checks the warm-up, because only it knows the size
// of the data.
void warmup_within_steps(const Config& config, Broken& broken) {
  if (config.train.steps == 0 || config.schedule.warmup <= config.train.steps) return;
  broken.push_back({{"schedule.warmup", "train.steps"},
                    "is " + std::to_string(config.schedule.warmup) +
                        ", must be at most train.steps, " + std::to_string(config.train.steps)});
}

void nesterov_needs_momentum(const Config& config, Broken& broken) {
  const OptimConfig& optim = config.optim;
  if (optim.name != "sgd" || !optim.nesterov || optim.momentum > 0) return;
  broken.push_back({{"optim.nesterov", "optim.momentum"}, "needs optim.momentum above 0"});
}

// An eps of 0 would divide 0 by 0 for weights without gradient, such as rows that no batch looks
// up.
void eps_stays_above_zero(const Config& config, Broken& broken) {
  const std::string& precision = config.train.precision;
  if (precision == "double" || float(config.optim.eps) > 0) return;
  broken.push_back(
      {{"optim.eps", "train.precision"},
       "rounds to 0 with train.precision = \"" + precision + "\"; choose a larger value"});
}

void step_falls(const Config& config, Broken& broken) {
  if (config.schedule.name != "step" || config.schedule.every > 0) return;
  broken.push_back({{"schedule.every", "schedule.name"},
                    "schedule.name = \"step\" needs it, the number of steps between drops"});
}

void frozen_groups_have_no_settings(const Config& config, Broken& broken) {
  for (std::size_t i = 0; i < config.optim.groups.size(); ++i) {
    const ParameterGroup& group = config.optim.groups[i];
    if (!group.freeze || (group.lr_scale == 1.0 && !group.weight_decay)) continue;
    const std::string name = "optim.groups[" + std::to_string(i) + "]";
    broken.push_back(
        {{"optim.groups"}, name + " is frozen, so its lr and weight_decay have no effect"});
  }
}

// A task with a key min_x also has x or max_x.
void minima_of_the_task(const Config& config, Broken& broken) {
  for (const auto& [name, value] : config.task_options) {
    const auto* least = std::get_if<std::int64_t>(&value);
    if (least == nullptr || !name.starts_with("min_")) continue;
    const std::string stem = name.substr(4);
    for (const std::string& other : {stem, "max_" + stem}) {
      const auto found = config.task_options.find(other);
      if (found == config.task_options.end()) continue;
      const auto* most = std::get_if<std::int64_t>(&found->second);
      if (most == nullptr || *least <= *most) continue;
      broken.push_back({{"task." + name, "task." + other},
                        "is " + std::to_string(*least) + ", must be at most task." + other + ", " +
                            std::to_string(*most)});
    }
  }
}

}  // namespace

std::vector<RuleBroken> broken_rules(const Config& config) {
  Broken broken;
  heads_divide_width(config, broken);
  without_out_proj_heads_make_the_width(config, broken);
  mean_needs_another_activation(config, broken);
  what_is_not_strict(config, broken);
  noise_needs_weights(config, broken);
  rotary_needs_pairs(config, broken);
  max_distance_of_relative_bias(config, broken);
  cross_positions_of_rotary(config, broken);
  outputs_have_no_known_length(config, broken);
  outputs_see_only_those_before(config, broken);
  outputs_read_the_input_in_layers(config, broken);
  only_encoders_recompute(config, broken);
  steps_or_epochs(config, broken);
  window_of_window_mlp(config, broken);
  heads_that_can_differ(config, broken);
  stochastic_depth_skips_sublayers(config, broken);
  std_of_trunc_normal(config, broken);
  rates_that_can_change(config, broken);
  one_average(config, broken);
  curriculum_counts_steps(config, broken);
  what_goes_with_the_loss(config, broken);
  warmup_within_steps(config, broken);
  nesterov_needs_momentum(config, broken);
  eps_stays_above_zero(config, broken);
  step_falls(config, broken);
  frozen_groups_have_no_settings(config, broken);
  minima_of_the_task(config, broken);
  return broken;
}

// No system call takes a path of PATH_MAX bytes, and looking at each of its parents takes time that
// grows with the square of its length. Only a shell expands ~. Control characters would garble
// terminals, logs and lists of runs.
std::string flaw_of_new_path(const std::string& path) {
  if (path.size() >= PATH_MAX) {
    return "is too long: " + std::to_string(path.size()) + " bytes, the limit is " +
           std::to_string(PATH_MAX - 1);
  }
  if (path.starts_with('~')) {
    return "begins with \"~\", which only a shell expands; write the whole path, or ./" +
           path.substr(0, path.find('/')) + " for a name that begins with it";
  }
  return escaped(path) == path ? ""
                               : "is " + to_literal(path) + ", must have no control characters";
}

void check_named_after(const std::string& file, const std::string& path) {
  const std::string flaw = flaw_of_new_path(path);
  check<ConfigError>(flaw.empty(), to_literal(file), ": the directory named after it ", flaw,
                     "; give the file another name");
}

// A run of an earlier version may make no other claim.
static void something_to_reach_within_steps(const ExpectConfig& expect, Broken& broken) {
  if (!expect.within_steps || expect.accuracy || expect.below_ceiling || expect.above_baseline ||
      expect.at_token_ceiling || expect.above_floor || expect.exact_match || expect.r2 ||
      expect.loss || expect.bits_per_character) {
    return;
  }
  broken.push_back({{"expect.within_steps", "expect.accuracy"},
                    "needs a claim about a metric, such as expect.accuracy, that a validation can "
                    "reach"});
}

std::vector<RuleBroken> broken_rules_of_new_runs(const Config& config) {
  Broken broken;
  const std::string flaw = flaw_of_new_path(config.run_dir);
  if (!flaw.empty()) broken.push_back({{"run.dir"}, flaw});
  const std::string hooks = problem_of_hooks(config.log_hooks);
  if (!hooks.empty()) broken.push_back({{"log.hooks"}, hooks});
  something_to_reach_within_steps(config.expect, broken);
  return broken;
}

}  // namespace xgrad::detail

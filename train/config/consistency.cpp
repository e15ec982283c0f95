#include <xgrad/train/config/keys.hpp>

#include <climits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/data/options.hpp>
#include <xgrad/text/excerpt.hpp>

namespace xgrad::detail {

static bool has_attention(const ModelConfig& m) {
  return m.kind == "encoder" || m.kind == "encoder_decoder";
}

static void heads_and_weights(const ModelConfig& m, const auto& refuse_if) {
  const std::size_t heads = m.heads, made = heads * m.head_dim;
  const bool divides = m.head_dim != 0 || m.width % heads == 0;
  const std::size_t head_dim = m.head_dim != 0 ? m.head_dim : m.width / heads;
  const bool attends = has_attention(m);
  refuse_if(attends && !divides, {"model.heads", "model.width", "model.head_dim"}, heads,
            " heads do not divide a width of ", m.width,
            "; change one of them, or set model.head_dim");
  refuse_if(!m.out_proj && m.head_dim != 0 && made != m.width,
            {"model.out_proj", "model.head_dim", "model.heads", "model.width"},
            "false needs heads * head_dim = width, but ", heads, " * ", m.head_dim, " = ", made,
            ", and model.width is ", m.width);
  refuse_if(m.attention_mean && m.attention_activation == "softmax",
            {"model.attention_mean", "model.attention_activation"},
            "needs another model.attention_activation than \"softmax\", whose weights sum to 1 "
            "already");
  refuse_if(!m.init_strict && m.init_from.empty(), {"model.init_strict", "model.init_from"},
            "false needs model.init_from, the weights to start from");
  refuse_if(m.init_noise != 0 && m.init_from.empty(), {"model.init_noise", "model.init_from"},
            "needs model.init_from, the weights to add noise to");
  refuse_if(attends && divides && m.positions == "rotary" && head_dim % 2 != 0,
            {"model.positions", "model.width", "model.heads", "model.head_dim"},
            "rotary needs an even number of features per head, not ", head_dim);
  refuse_if(m.init_std != ModelConfig().init_std && m.init != "trunc_normal",
            {"model.init_std", "model.init"},
            "has an effect only with model.init = \"trunc_normal\", not ", m.init);
}

static void positions_and_kind(const ModelConfig& m, const auto& refuse_if) {
  const bool decodes = m.kind == "encoder_decoder", attends = has_attention(m);
  refuse_if(m.max_distance != ModelConfig().max_distance && m.positions != "relative_bias",
            {"model.max_distance", "model.positions"},
            "has an effect only with model.positions = \"relative_bias\", not ", m.positions);
  refuse_if(m.cross_positions && !(decodes && m.positions == "rotary"),
            {"model.cross_positions", "model.kind", "model.positions"},
            "has an effect only with model.kind = \"encoder_decoder\" and model.positions = "
            "\"rotary\"");
  refuse_if(decodes && m.positions == "relative_index", {"model.positions", "model.kind"},
            "relative_index needs the length of the output, which an encoder_decoder does not know "
            "in advance");
  refuse_if(decodes && m.normalization == "batch", {"model.normalization", "model.kind"},
            "batch would leak later outputs of an encoder_decoder to earlier ones");
  refuse_if(decodes && m.layers == 0, {"model.layers", "model.kind"},
            "is 0, must be at least 1 for an encoder_decoder, which reads its input in the layers "
            "of its decoder");
  refuse_if(m.window % 2 == 0, {"model.window"}, "is ", m.window, ", must be odd");
  refuse_if(m.window % 2 != 0 && m.window != ModelConfig().window && m.kind != "window_mlp",
            {"model.window", "model.kind"},
            "has an effect only with model.kind = \"window_mlp\", not ", m.kind);
  refuse_if(m.stochastic_depth > 0 && !attends, {"model.stochastic_depth", "model.kind"},
            "skips the sublayers of an encoder; kind ", m.kind, " has none");
  refuse_if(m.init_scaled_residuals && !attends, {"model.init_scaled_residuals", "model.kind"},
            "is for the sublayers of an encoder; kind ", m.kind, " has none");
}

// The penalty compares the directions of the attention maps of two heads.
static void heads_that_can_differ(const Config& config, const auto& refuse_if) {
  const ModelConfig& m = config.model;
  if (config.train.head_diversity == 0) return;
  const char* const key = "train.head_diversity";
  refuse_if(!has_attention(m), {key, "model.kind"}, "compares attention heads; kind ", m.kind,
            " has none");
  if (!has_attention(m)) return;
  refuse_if(m.heads == 1, {key, "model.heads"}, "compares heads, and model.heads is 1");
  refuse_if(m.layers == 0, {key, "model.layers"}, "compares heads, and model.layers is 0");
  refuse_if(m.attention_activation.ends_with("relu"), {key, "model.attention_activation"},
            "compares the directions of attention maps, and maps of model.attention_activation = "
            "\"",
            m.attention_activation, "\" may be all 0");
  refuse_if(config.train.recompute, {key, "train.recompute"},
            "needs the attention maps, which train.recompute does not keep");
}

static void averages_and_rates(const TrainConfig& train, const ModelConfig& m,
                               const auto& refuse_if) {
  refuse_if((train.dropout_start != 1 || train.dropout_end != 1) && m.own.empty() &&
                m.dropout == 0 && m.attention_dropout == 0 && m.stochastic_depth == 0,
            {train.dropout_start != 1 ? "train.dropout_start" : "train.dropout_end",
             "model.dropout", "model.attention_dropout", "model.stochastic_depth"},
            "has no effect, because every dropout rate is 0");
  const std::uint64_t first = train.swa_start + train.swa_every;
  const bool averages = train.swa_start > 0;
  refuse_if(!averages && train.swa_every != 1, {"train.swa_every", "train.swa_start"},
            "needs train.swa_start");
  refuse_if(averages && train.ema > 0, {"train.swa_start", "train.ema"},
            "cannot be combined with train.ema: a run keeps one average");
  refuse_if(averages && train.steps > 0 && first > train.steps,
            {"train.swa_start", "train.swa_every", "train.steps"},
            "leaves nothing to average: the first weights are those of step ", first,
            ", and train.steps is ", train.steps);
  const bool both = (train.curriculum_start == 0) == (train.curriculum_steps == 0);
  refuse_if(!both, {"train.curriculum_start", "train.curriculum_steps"},
            "set both train.curriculum_start and train.curriculum_steps, or neither");
  refuse_if(both && train.curriculum_start > 0 && train.steps == 0,
            {"train.curriculum_start", "train.epochs"},
            "needs train.steps: an epoch is shorter while long examples wait");
}

// make_objective() checks whether the loss fits the task's targets.
static void what_goes_with_the_loss(const TrainConfig& train, const auto& refuse_if) {
  const bool of_classes = train.loss == "auto" || train.loss == "cross_entropy";
  const char* const unless = " unless train.loss is \"auto\" or \"cross_entropy\"; it is ";
  refuse_if(train.huber_delta != TrainConfig().huber_delta && train.loss != "huber",
            {"train.huber_delta", "train.loss"},
            "has an effect only with train.loss = \"huber\", not ", train.loss);
  refuse_if((train.balanced_classes || !train.class_weights.empty()) && !of_classes,
            {"train.class_weights", "train.loss"}, "must be []", unless, train.loss);
  refuse_if(train.label_smoothing > 0 && !of_classes, {"train.label_smoothing", "train.loss"},
            "must be 0", unless, train.loss);
}

static void optimizer_and_schedule(const Config& config, const auto& refuse_if) {
  const OptimConfig& optim = config.optim;
  const std::uint64_t steps = config.train.steps, warmup = config.schedule.warmup;
  // The trainer checks warm-ups against epochs, because it knows the size of the data.
  refuse_if(steps != 0 && warmup > steps, {"schedule.warmup", "train.steps"}, "is ", warmup,
            ", must be at most train.steps, ", steps);
  refuse_if(optim.name == "sgd" && optim.nesterov && optim.momentum == 0,
            {"optim.nesterov", "optim.momentum"}, "needs optim.momentum above 0");
  // An eps of 0 would divide 0 by 0 for weights without gradient.
  const std::string& precision = config.train.precision;
  refuse_if(precision != "double" && float(optim.eps) == 0, {"optim.eps", "train.precision"},
            "rounds to 0 with train.precision = \"", precision, "\"; choose a larger value");
  refuse_if(config.schedule.name == "step" && config.schedule.every == 0,
            {"schedule.every", "schedule.name"},
            "schedule.name = \"step\" needs it, the number of steps between drops");
  for (std::size_t i = 0; i < optim.groups.size(); ++i) {
    const ParameterGroup& group = optim.groups[i];
    refuse_if(group.freeze && (group.lr_scale != 1.0 || group.weight_decay), {"optim.groups"},
              "optim.groups[", i, "] is frozen, so its lr_scale and weight_decay have no effect");
  }
}

// A task with a key min_x also has x or max_x.
static void minima_of_the_task(const Options& options, const auto& refuse_if) {
  const auto integer = [&](const std::string& name) {
    const auto found = options.find(name);
    return found == options.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
  };
  for (const auto& [name, value] : options) {
    const std::int64_t* const least = integer(name);
    if (least == nullptr || !name.starts_with("min_")) continue;
    for (const std::string& other : {name.substr(4), "max_" + name.substr(4)}) {
      const std::int64_t* const most = integer(other);
      refuse_if(most && *least > *most, {"task." + name, "task." + other}, "is ", *least,
                ", must be at most task.", other, ", ", most ? *most : 0);
    }
  }
}

void check_rules(const Config& config, const Report& report) {
  const TrainConfig& train = config.train;
  const ExpectConfig& e = config.expect;
  // The message is about the first key and made of `parts`.
  const auto refuse_if = [&](bool broken, const std::vector<std::string>& keys,
                             const auto&... parts) {
    if (!broken) return;
    Message message;
    (message.add(parts), ...);
    report(keys, message.text());
  };
  heads_and_weights(config.model, refuse_if);
  positions_and_kind(config.model, refuse_if);
  refuse_if(train.recompute && !has_attention(config.model), {"train.recompute", "model.kind"},
            "recomputes the blocks of an encoder; kind ", config.model.kind, " has none");
  refuse_if((train.steps == 0) == (train.epochs == 0), {"train.steps", "train.epochs"},
            "set exactly one of train.steps and train.epochs, the length of the run");
  heads_that_can_differ(config, refuse_if);
  averages_and_rates(train, config.model, refuse_if);
  what_goes_with_the_loss(train, refuse_if);
  optimizer_and_schedule(config, refuse_if);
  minima_of_the_task(config.task_options, refuse_if);
  const std::string flaw = flaw_of_new_path(config.run_dir);
  refuse_if(!flaw.empty(), {"run.dir"}, flaw);
  const bool claims = e.accuracy || e.below_ceiling || e.above_baseline || e.at_token_ceiling ||
                      e.above_floor || e.exact_match || e.r2 || e.loss || e.bits_per_character;
  refuse_if(e.within_steps && !claims, {"expect.within_steps", "expect.accuracy"},
            "needs a claim about a metric, such as expect.accuracy, that a validation can reach");
}

// No system call takes a path of PATH_MAX bytes. Control characters would garble lists of runs.
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

}  // namespace xgrad::detail

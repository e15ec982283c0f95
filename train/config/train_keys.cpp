// The rows of [train].
#include <xgrad/train/config/section_keys.hpp>

namespace xgrad::detail {

namespace {

using T = TrainConfig;

constexpr SectionKeys<T> key{"train", [](Config& c) -> T& { return c.train; }};
constexpr const char* kBalanced = "balanced";

// A list, or a word.
ConfigKey class_weights_key() {
  ConfigKey own;
  own.section = "train";
  own.get = [](const Config& config) -> std::optional<OptionValue> {
    if (config.train.balanced_classes) return std::string(kBalanced);
    return config.train.class_weights;
  };
  own.set = [](Config& config, const OptionValue& value) {
    const auto* weights = std::get_if<Numbers>(&value);
    config.train.balanced_classes = weights == nullptr;
    config.train.class_weights = weights ? *weights : Numbers();
  };
  own.spec = {"class_weights",
              Numbers(),
              "Weight of each class in the loss of a target, in the order of the classes; the mean "
              "divides by the sum of the weights of the targets. balanced: training targets / "
              "(classes * training targets of the class). []: all 1. The reported loss has no "
              "weights.",
              0,
              std::numeric_limits<double>::infinity(),
              {kBalanced}};
  return own;
}

// Keys of [train] about steps: their number, batches and loss.
Keys step_keys() {
  return {
      key("steps", &T::steps, "Length of the run in steps; set either this or epochs.",
          between(0, kMany)),
      key("epochs", &T::epochs, "Length of the run in passes over the training data.",
          between(0, kMany)),
      key("batch", &T::batch, "Examples per micro-batch.", between(1, 1048576)),
      key("bucket", &T::bucket,
          "Sorts examples by length among this many micro-batches, to reduce padding; 1: off.",
          between(1, 1048576)),
      key("accumulate", &T::accumulate, "Micro-batches per step.", between(1, 1048576)),
      key("shards", &T::shards,
          "Parts of each micro-batch, which several processes share out. Results depend on this "
          "number, but not on the number of processes.",
          between(1, 4096)),
      key("clip", &T::clip, "Maximum global gradient norm; 0: no clipping.", at_least(0)),
      key("clip_value", &T::clip_value,
          "Maximum size of each element of a gradient, applied before train.clip; 0: no limit.",
          at_least(0)),
      key("loss", &T::loss,
          "Loss to minimise. auto: cross_entropy for classes, binary_cross_entropy for yes or no, "
          "mse for numbers.",
          {"auto", "cross_entropy", "binary_cross_entropy", "mse", "mae", "huber"}),
      key("huber_delta", &T::huber_delta,
          "For huber: error at which the loss turns from quadratic to linear.", at_least(above(0))),
      key("label_smoothing", &T::label_smoothing,
          "Fraction of the target probability spread over all classes.", kFraction),
      class_weights_key(),
      key("head_diversity", &T::head_diversity,
          "Weight of a penalty on similar heads: the mean squared cosine of the attention maps of "
          "two heads; 0: none. The reported loss excludes it.",
          at_least(0)),
      key("dropout_start", &T::dropout_start,
          "Factor of all dropout rates, stochastic depth included, in the first step. It changes "
          "linearly to train.dropout_end in the last step.",
          between(0, 1)),
      key("dropout_end", &T::dropout_end, "Factor of all dropout rates in the last step.",
          between(0, 1)),
      key("curriculum_start", &T::curriculum_start,
          "Maximum length of the training examples in the first step. It grows linearly to the "
          "longest over train.curriculum_steps; longer examples wait for a later epoch; 0: no "
          "limit.",
          between(0, kMany)),
      key("curriculum_steps", &T::curriculum_steps,
          "Steps over which the limit of train.curriculum_start grows.", between(0, kMany)),
  };
}

// The other keys of [train]: evaluation, saving, limits and execution.
Keys run_keys() {
  return {
      key("seed", &T::seed,
          "Seed of all randomness: data, initial weights, order of examples, dropout.",
          at_least(0)),
      key("ema", &T::ema,
          "Decay of an exponential moving average of the weights, which is then evaluated; 0: "
          "none.",
          kFraction),
      key("swa_start", &T::swa_start,
          "Step after which an equal average of the weights begins (SWA), which is evaluated like "
          "that of train.ema; 0: none.",
          between(0, kMany)),
      key("swa_every", &T::swa_every,
          "For train.swa_start: steps between the weights that are averaged.", between(1, kMany)),
      key("patience", &T::patience,
          "Ends the run after this many evaluations in a row without a better validation loss; 0: "
          "off.",
          between(0, kMany)),
      key("on_spike", &T::on_spike,
          "What to do about a spike (see train.spike). stop: end the run; skip: skip the step; "
          "rollback: return to the last save and continue with the next batches.",
          {"stop", "skip", "rollback"}),
      key("spike", &T::spike,
          "A step whose gradient norm exceeds this multiple of its running mean is a spike; 0: no "
          "limit. A loss or gradient that is NaN or infinite is always one.",
          at_least(0)),
      execution(key("dead_gradients_every", &T::dead_gradients_every,
                    "Steps between checks, the first after step 1. Each ends the run if the "
                    "gradient of a parameter was missing, or 0 throughout, in all steps since the "
                    "check before; 0: no checks.",
                    between(0, kMany))),
      execution(key("max_seconds", &T::max_seconds,
                    "Saves and stops the run after this many seconds; 0: no limit.", at_least(0))),
      execution(key("threads", &T::threads,
                    "Number of threads; 0: one per core. The result does not depend on it.",
                    between(0, 1024))),
      execution(key("recompute", &T::recompute,
                    "Stores only the input of each encoder block and reruns the block in backward: "
                    "less memory, more time, same result.")),
      key("evaluate_every", &T::evaluate_every,
          "Steps between evaluations; 0: every epoch, or a tenth of the run if train.steps is set.",
          between(0, kMany)),
      key("save_every", &T::save_every,
          "Steps between checkpoints; every new best is saved too; 0: as evaluate_every.",
          between(0, kMany)),
      key("keep", &T::keep, "Number of newest checkpoints to keep besides the best; 1 counts as 2.",
          between(1, 1048576)),
      key("precision", &T::precision,
          "Arithmetic: float and double compute everything in that type; bf16 is float, but the "
          "operands of matrix products are rounded to bfloat16.",
          {"float", "double", "bf16"}),
  };
}

}  // namespace

Keys train_keys() {
  return all_of({step_keys(), run_keys()});
}

}  // namespace xgrad::detail

// The rows of all sections but [model] in the table of keys.
#include <xgrad/train/config/keys.hpp>

#include <xgrad/optim/optimizers.hpp>
#include <xgrad/optim/schedule.hpp>

namespace xgrad::detail {

using T = TrainConfig;

constexpr const char* kBalanced = "balanced";

// The value is a list or the word "balanced".
static ConfigKey class_weights_key() {
  ConfigKey own;
  own.section = "train";
  own.get = [](const Config& config) -> std::optional<OptionValue> {
    if (config.train.balanced_classes) return std::string(kBalanced);
    return Numbers(config.train.class_weights);
  };
  own.set = [](Config& config, const OptionValue& value) {
    const auto* weights = std::get_if<Numbers>(&value);
    config.train.balanced_classes = weights == nullptr;
    config.train.class_weights = weights ? *weights : Numbers();
  };
  own.spec = {
      "class_weights",
      Numbers(),
      "Weight of each class in the loss, in the order of the classes; the loss is the weighted "
      "mean over the targets. balanced: the number of training targets / (the number of classes * "
      "the number of training targets of the class). []: all 1. The losses in metrics.jsonl are "
      "unweighted.",
      0,
      std::numeric_limits<double>::infinity(),
      {kBalanced}};
  return own;
}

// Keys of [train] about steps: their number, batches and loss.
static Keys step_keys() {
  const SectionKeys<T> key{"train", [](Config& c) -> T& { return c.train; }};
  return {
      key("steps", &T::steps, kCount, "Length of the run in steps; set either this or epochs."),
      key("epochs", &T::epochs, kCount, "Length of the run in passes over the training data."),
      key("batch", &T::batch, between(1, 1048576), "Examples per micro-batch."),
      key("bucket", &T::bucket, between(1, 1048576),
          "Sorts examples by length among this many micro-batches, to reduce padding; 1: off."),
      key("accumulate", &T::accumulate, between(1, 1048576), "Micro-batches per step."),
      key("shards", &T::shards, between(1, 4096),
          "Number of parts that each micro-batch is split into; processes divide the parts among "
          "themselves. Results depend on this number, but not on the number of processes."),
      key("clip", &T::clip, kNotNegative, "Maximum global gradient norm; 0: no clipping."),
      key("clip_value", &T::clip_value, kNotNegative,
          "Maximum absolute value of each gradient element, applied before train.clip; 0: no "
          "limit."),
      key("loss", &T::loss,
          {"auto", "cross_entropy", "binary_cross_entropy", "mse", "mae", "huber"},
          "Loss to minimise. auto: cross_entropy for classes, binary_cross_entropy for yes or no, "
          "mse for numbers."),
      key("huber_delta", &T::huber_delta, kPositive,
          "For huber: error at which the loss turns from quadratic to linear."),
      key("label_smoothing", &T::label_smoothing, kFraction,
          "Fraction of the target probability spread over all classes."),
      class_weights_key(),
      key("head_diversity", &T::head_diversity, kNotNegative,
          "Weight of a penalty on similar heads: the mean squared cosine of the attention maps of "
          "two heads; 0: none. The reported loss excludes it."),
      key("dropout_start", &T::dropout_start, kShare,
          "Multiplies all dropout rates, stochastic depth included, in the first step. The factor "
          "changes linearly to train.dropout_end in the last step."),
      key("dropout_end", &T::dropout_end, kShare, "Multiplies all dropout rates in the last step."),
      key("curriculum_start", &T::curriculum_start, kCount,
          "Maximum length of the training examples in the first step. It grows linearly to the "
          "longest length over train.curriculum_steps; longer examples wait for a later epoch; "
          "0: no limit."),
      key("curriculum_steps", &T::curriculum_steps, kCount,
          "Steps over which the limit of train.curriculum_start grows."),
  };
}

// The other keys of [train]: evaluation, saving, limits and execution.
static Keys run_keys() {
  const SectionKeys<T> key{"train", [](Config& c) -> T& { return c.train; }};
  return {
      key("seed", &T::seed, kNotNegative,
          "Seed of all randomness: data, initial weights, order of examples, dropout."),
      key("ema", &T::ema, kFraction,
          "Decay of an exponential moving average (EMA) of the weights; evaluations use the "
          "average; 0: none."),
      key("swa_start", &T::swa_start, kCount,
          "Step after which stochastic weight averaging (SWA) begins: evaluations use the mean of "
          "the weights since then; 0: none."),
      key("swa_every", &T::swa_every, between(1, kMany),
          "For train.swa_start: number of steps between the weights that are averaged."),
      key("patience", &T::patience, kCount,
          "Ends the run after this many evaluations in a row without a better train.best_metric; "
          "0: off."),
      key("on_spike", &T::on_spike, {"stop", "skip", "rollback"},
          "Reaction to a spike (see train.spike). stop: end the run; skip: skip the step; "
          "rollback: return to the last save and continue with the next batches. After ten skipped "
          "steps in a row, or ten rollbacks since the last save, the next spike ends the run."),
      key("spike", &T::spike, kNotNegative,
          "After 20 steps, a step whose gradient norm exceeds this multiple of its running mean is "
          "a spike; 0: no limit. A NaN or infinite loss or gradient is always a spike."),
      key("dead_gradients_every", &T::dead_gradients_every, kCount,
          "Steps between checks for dead gradients; the first check follows step 1. A check ends "
          "the run if the gradient of a parameter was missing, or 0 in all elements, in every step "
          "since the previous check; 0: no checks."),
      key("max_seconds", &T::max_seconds, kNotNegative,
          "Saves and stops the run this many seconds after it was started or resumed; 0: no "
          "limit."),
      key("threads", &T::threads, between(0, 1024),
          "Number of threads; 0: one per core. The result does not depend on it."),
      key("recompute", &T::recompute,
          "Stores only the input of each encoder block and reruns the block in backward: less "
          "memory, more time, same result."),
      key("evaluate_every", &T::evaluate_every, kCount,
          "Steps between evaluations; 0: every epoch, or a tenth of the run if train.steps is "
          "set."),
      key("save_every", &T::save_every, kCount,
          "Steps between checkpoints; every new best is saved too; 0: as evaluate_every."),
      key("keep", &T::keep, between(1, 1048576),
          "Number of newest checkpoints to keep besides the best. At least 2 are kept, even if "
          "this is 1."),
      key("keep_best", &T::keep_best,
          "Uses the weights of the best validation, not those of the last step: they are scored on "
          "the test split, and commands with the option --last load them unless it is given."),
      key("best_metric", &T::best_metric,
          {"loss", "accuracy", "exact_match", "perplexity", "bits_per_character", "bits_per_word",
           "r2", "mae", "rmse"},
          "Validation metric that chooses the best step."),
      key("precision", &T::precision, {"float", "double", "bf16"},
          "Arithmetic: float and double compute everything in that type; bf16 is float, but the "
          "operands of matrix products are rounded to bfloat16."),
  };
}

Keys train_keys() {
  Keys keys = all_of({step_keys(), run_keys()});
  const std::vector<std::string> of_execution = {"dead_gradients_every", "max_seconds", "threads",
                                                 "recompute"};
  for (ConfigKey& key : keys) key.execution = contains(of_execution, key.spec.name);
  return keys;
}

// Lists for each key the values of the section's `name` that use it.
static Keys with_users(Keys keys, const std::vector<std::string>& names,
                       const std::vector<std::string>& (*keys_of)(const std::string&)) {
  for (ConfigKey& key : keys) {
    for (const std::string& name : names) {
      if (contains(keys_of(name), key.spec.name)) key.users.push_back(name);
    }
  }
  return keys;
}

Keys optim_keys() {
  using O = OptimConfig;
  const SectionKeys<O> key{"optim", [](Config& c) -> O& { return c.optim; }};
  Keys keys = {
      key("name", &O::name, optimizer_names(), "The optimizer."),
      key("lr", &O::lr, kPositive, "Peak learning rate."),
      key("betas", &O::betas, kFraction,
          "For adam, adamw: decay of the mean of gradients, then of the mean of squared gradients. "
          "For lion: weight of the mean of gradients in the update, then its decay; the paper uses "
          "[0.9, 0.99]."),
      key("eps", &O::eps, kPositive,
          "For adam, adamw, adagrad, rmsprop: added to the denominator."),
      key("weight_decay", &O::weight_decay, kNotNegative,
          "Weight decay of matrices; biases, norms, embeddings and positions have none."),
      key("momentum", &O::momentum, kFraction, "For sgd: momentum."),
      key("nesterov", &O::nesterov, "For sgd: Nesterov momentum."),
      key("alpha", &O::alpha, kFraction, "For rmsprop: decay of the mean of squared gradients."),
  };
  return with_users(std::move(keys), optimizer_names(), optimizer_keys);
}

const std::vector<GroupKey>& group_keys() {
  using G = ParameterGroup;
  const auto key = [](const char* name, auto field, Limits limits, const char* help) {
    return key_at<G>(
        [field](G & group) -> auto& { return group.*field; }, name, help, limits);
  };
  static const std::vector<GroupKey> keys = {
      key("match", &G::match, Limits(),
          "Pattern of parameter names: * matches any text, ? any one character; both match dots."),
      key("lr_scale", &G::lr_scale, kNotNegative, "Multiplies the learning rate."),
      key("weight_decay", &G::weight_decay, kNotNegative,
          "Weight decay of these parameters, biases and norms too; not set: optim.weight_decay "
          "applies as usual."),
      key("freeze", &G::freeze, Limits(), "Keeps these parameters unchanged."),
  };
  return keys;
}

Keys schedule_keys() {
  using S = ScheduleConfig;
  const SectionKeys<S> key{"schedule", [](Config& c) -> S& { return c.schedule; }};
  Keys keys = {
      key("name", &S::name, schedule_names(), "Shape of the learning rate after warm-up."),
      key("warmup", &S::warmup, kCount,
          "Steps of warm-up, in which the learning rate rises to optim.lr."),
      key("final", &S::final, kShare,
          "Final learning rate as a fraction of optim.lr; for plateau, the lower limit."),
      key("power", &S::power, kPositive, "For polynomial: the exponent."),
      key("every", &S::every, kCount, "For step: number of steps between drops; required."),
      key("gamma", &S::gamma, between(above(0), below(1)),
          "For step, plateau: factor of each drop."),
      key("decay", &S::decay, between(above(0), 1),
          "For wsd: fraction of the steps after warm-up in which the rate falls."),
      key("div", &S::div, kAtLeastOne,
          "For one_cycle with warm-up: the rate starts at optim.lr / div."),
      key("patience", &S::patience, kCount,
          "For plateau: number of evaluations in a row that may bring no improvement. One more "
          "drops the rate, as in PyTorch."),
  };
  return with_users(std::move(keys), schedule_names(), xgrad::schedule_keys);
}

Keys execution_keys() {
  using C = Config;
  constexpr auto whole = [](Config& c) -> Config& { return c; };
  const SectionKeys<C> log{"log", whole}, run{"run", whole}, mpi{"mpi", whole};
  Keys keys = {
      log("every", &C::log_every, between(1, kMany),
          "Steps between training rows of metrics.jsonl."),
      log("tensorboard", &C::log_tensorboard, "Also writes TensorBoard event files."),
      log("csv", &C::log_csv, "Also writes metrics.csv, the rows of metrics.jsonl as a table."),
      log("digests", &C::log_digests,
          "Also writes digests.jsonl, a digest of every tensor of every step, for `xgrad diff`."),
      log("hooks", &C::log_hooks,
          "Names of hooks to run, separated by commas. A program that embeds xgrad defines them "
          "with add_hook()."),
      run("dir", &C::run_dir,
          "Run directory; empty: runs/NAME for NAME.toml, or if that exists, runs/NAME-2 and so "
          "on. A leading ~ is refused."),
      mpi("timeout", &C::mpi_timeout, kAtLeastOne,
          "For several processes: ends the run if one of them does not answer for this many "
          "seconds, for example because its machine has failed."),
  };
  for (ConfigKey& key : keys) key.execution = true;
  return keys;
}

Keys expect_keys() {
  using E = ExpectConfig;
  const SectionKeys<E> key{"expect", [](Config& c) -> E& { return c.expect; }};
  return {
      key("accuracy", &E::accuracy, kShare, "Minimum accuracy on the test split."),
      key("accuracy_below", &E::accuracy_below, kShare,
          "Maximum accuracy on the test split, for a config that shows how a model fails."),
      key("below_ceiling", &E::below_ceiling, kShare,
          "Maximum gap between the accuracy and the best possible; for tasks that compute that."),
      key("above_baseline", &E::above_baseline, between(-1, 1),
          "Minimum difference between the accuracy and that of the best baseline. Baselines are "
          "simple rules fitted by counting; the report of a run lists them."),
      key("at_token_ceiling", &E::at_token_ceiling, kShare,
          "Maximum absolute difference between the accuracy and the best possible accuracy of a "
          "model that reads each token alone; for tasks where that is known."),
      key("above_floor", &E::above_floor, kNotNegative,
          "Maximum of (loss - lowest possible loss) / lowest possible loss; for tasks where that "
          "is known."),
      key("exact_match", &E::exact_match, kShare,
          "Minimum fraction of test examples with every target predicted correctly."),
      key("bits_per_character", &E::bits_per_character, kNotNegative,
          "Maximum bits per character on the test split, for language models of characters. The "
          "end of a text counts as a character."),
      key("bits_below_rule", &E::bits_below_rule, between(-kMany, kMany),
          "Minimum improvement in bits per character over the task's best rule, which counts "
          "n-grams."),
      key("r2", &E::r2, between(-kMany, 1), "Minimum R^2 on the test split."),
      key("loss", &E::loss, kNotNegative, "Maximum loss on the test split."),
      key("parameters", &E::parameters, between(1, kMany),
          "Exact number of scalars in all parameters."),
      key("within_steps", &E::within_steps, between(1, kMany),
          "Step by which an evaluation on the validation split must meet all claims about metrics, "
          "except accuracy_below and bits_below_rule."),
      key("seconds", &E::seconds, kPositive,
          "Maximum seconds of training, with its evaluations and saves; only `xgrad check` judges "
          "it, and only without --jobs."),
      key("sha256", &E::sha256,
          "Exact hash of the weights and the optimizer's state after the last step, as `xgrad "
          "inspect --hash` prints it. Not judged if an override changes the run, or if the "
          "processor's arithmetic is not fma-1; see `xgrad info`."),
  };
}

}  // namespace xgrad::detail

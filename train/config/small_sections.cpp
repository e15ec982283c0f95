// The rows of the sections whose keys are few: [optim] and its groups, [schedule], [log], [run],
// [mpi] and [expect].
#include <algorithm>

#include <xgrad/optim/optimizers.hpp>
#include <xgrad/optim/schedule.hpp>
#include <xgrad/train/config/section_keys.hpp>

namespace xgrad::detail {

// Sets for each row which values of the section's `name` use it.
static Keys with_users(Keys keys, const std::vector<std::string>& names,
                       const std::vector<std::string>& (*keys_of)(const std::string&)) {
  for (ConfigKey& key : keys) {
    for (const std::string& name : names) {
      const std::vector<std::string>& read = keys_of(name);
      if (std::find(read.begin(), read.end(), key.spec.name) != read.end()) {
        key.users.push_back(name);
      }
    }
  }
  return keys;
}

Keys optim_keys() {
  using O = OptimConfig;
  const SectionKeys<O> key{"optim", [](Config& c) -> O& { return c.optim; }};
  return with_users(
      {
          key("name", &O::name, "The optimizer.", optimizer_names()),
          key("lr", &O::lr, "Peak learning rate.", at_least(above(0))),
          key("beta1", &O::beta1,
              "For adam, adamw: decay of the mean of gradients. For lion: weight of that mean in "
              "the "
              "update.",
              kFraction),
          key("beta2", &O::beta2,
              "For adam, adamw: decay of the mean of squared gradients. For lion: decay of the "
              "mean of "
              "gradients; its paper uses 0.99.",
              kFraction),
          key("eps", &O::eps, "For adam, adamw, adagrad, rmsprop: added to the denominator.",
              at_least(above(0))),
          key("weight_decay", &O::weight_decay,
              "Weight decay of matrices; biases, norms, embeddings and positions have none.",
              at_least(0)),
          key("momentum", &O::momentum, "For sgd: momentum.", kFraction),
          key("nesterov", &O::nesterov, "For sgd: Nesterov momentum."),
          key("alpha", &O::alpha, "For rmsprop: decay of the mean of squared gradients.",
              kFraction),
      },
      optimizer_names(), optimizer_keys);
}

const std::vector<GroupKey>& group_keys() {
  using G = ParameterGroup;
  const auto key = []<class Field>(const char* name, Field G::*field, const char* help) {
    const auto place = [field](G& group) -> Field& { return group.*field; };
    return key_at<G>(
        place, name, help,
        std::is_same_v<Field, std::string> || std::is_same_v<Field, bool> ? Limits() : at_least(0));
  };
  static const std::vector<GroupKey> keys = {
      key("match", &G::match,
          "Pattern of parameter names: * matches any text, ? one character, dots too."),
      key("lr_scale", &G::lr_scale, "Multiplies the learning rate."),
      key("weight_decay", &G::weight_decay,
          "Weight decay of these parameters, biases and norms too; not set: as optim.weight_decay "
          "says."),
      key("freeze", &G::freeze, "Keeps these parameters unchanged."),
  };
  return keys;
}

Keys schedule_keys() {
  using S = ScheduleConfig;
  const SectionKeys<S> key{"schedule", [](Config& c) -> S& { return c.schedule; }};
  return with_users(
      {
          key("name", &S::name, "Shape of the learning rate after warm-up.", schedule_names()),
          key("warmup", &S::warmup,
              "Steps of warm-up, in which the learning rate rises to optim.lr.", between(0, kMany)),
          key("final", &S::final,
              "Final learning rate, for plateau the lowest, as a fraction of optim.lr.",
              between(0, 1)),
          key("power", &S::power, "For polynomial: the exponent.", at_least(above(0))),
          key("every", &S::every, "For step: number of steps between drops; required.",
              between(0, kMany)),
          key("gamma", &S::gamma, "For step, plateau: factor of each drop.",
              between(above(0), below(1))),
          key("decay", &S::decay,
              "For wsd: fraction of the steps after warm-up in which the rate falls.",
              between(above(0), 1)),
          key("div", &S::div, "For one_cycle: the rate starts at optim.lr / div.", at_least(1)),
          key("patience", &S::patience,
              "For plateau: evaluations in a row that may bring no better validation loss before a "
              "drop.",
              between(0, kMany)),
      },
      schedule_names(), xgrad::schedule_keys);
}

Keys execution_keys() {
  using C = Config;
  constexpr auto whole = [](Config& c) -> Config& { return c; };
  const SectionKeys<C> log{"log", whole}, run{"run", whole};
  const SectionKeys<MpiConfig> mpi{"mpi", [](Config& c) -> MpiConfig& { return c.mpi; }};
  Keys keys = {
      log("every", &C::log_every, "Steps between rows of metrics.jsonl.", between(1, kMany)),
      log("tensorboard", &C::log_tensorboard, "Also writes TensorBoard event files."),
      log("csv", &C::log_csv, "Also writes metrics.csv, the rows of metrics.jsonl as a table."),
      log("digests", &C::log_digests,
          "Also writes digests.jsonl, a digest of every tensor of every step, for `xgrad diff`."),
      log("hooks", &C::log_hooks, "Hooks that the program added, separated by commas."),
      run("dir", &C::run_dir,
          "Run directory; empty: runs/NAME for NAME.toml. A leading ~ is refused."),
      mpi("timeout", &MpiConfig::timeout,
          "For several processes: seconds after which one that does not answer, because "
          "it or its machine is stopped, ends the run.",
          at_least(1)),
  };
  for (ConfigKey& key : keys) key.execution = true;
  return keys;
}

Keys expect_keys() {
  using E = ExpectConfig;
  const SectionKeys<E> key{"expect", [](Config& c) -> E& { return c.expect; }};
  return {
      key("accuracy", &E::accuracy, "Minimum accuracy on the test split.", between(0, 1)),
      key("accuracy_below", &E::accuracy_below,
          "Maximum accuracy on the test split, for a config that shows how a model fails.",
          between(0, 1)),
      key("below_ceiling", &E::below_ceiling,
          "Maximum gap between the accuracy and the best possible; for tasks where that is known.",
          between(0, 1)),
      key("above_baseline", &E::above_baseline,
          "Minimum lead of the accuracy over that of the best baseline, a rule fitted by "
          "counting; see the report of a run.",
          between(-1, 1)),
      key("at_token_ceiling", &E::at_token_ceiling,
          "Maximum difference, up or down, between the accuracy and the best possible from each "
          "token by itself; for tasks where that is known.",
          between(0, 1)),
      key("above_floor", &E::above_floor,
          "Maximum excess of the loss over the lowest possible, as a fraction of the latter; for "
          "tasks where that is known.",
          at_least(0)),
      key("exact_match", &E::exact_match,
          "Minimum fraction of test examples with every target right.", between(0, 1)),
      key("bits_per_character", &E::bits_per_character,
          "Maximum bits per character on the test split, for language models of characters. The "
          "end of a text counts as a character.",
          at_least(0)),
      key("bits_below_rule", &E::bits_below_rule,
          "Minimum by which the bits per character are below those of the task's best rule, which "
          "counts n-grams.",
          between(-kMany, kMany)),
      key("r2", &E::r2, "Minimum R^2 on the test split.", between(-kMany, 1)),
      key("loss", &E::loss, "Maximum loss on the test split.", at_least(0)),
      key("parameters", &E::parameters, "Exact number of scalars in all parameters.",
          between(1, kMany)),
      key("within_steps", &E::within_steps,
          "Maximum step of the first validation at which all claims about metrics hold on the "
          "validation split.",
          between(1, kMany)),
      key("seconds", &E::seconds,
          "Maximum seconds of training, with its evaluations and saves; only `xgrad check` "
          "judges it.",
          at_least(above(0))),
      key("sha256", &E::sha256,
          "Exact hash of the weights and the optimizer's state after the last step, as `xgrad "
          "inspect --hash` prints it. Not judged if an override changes the run, or if the "
          "processor's arithmetic is not fma-1; see `xgrad info`."),
  };
}

}  // namespace xgrad::detail

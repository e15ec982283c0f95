#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/random.hpp>
#include <xgrad/data/task.hpp>
#include <xgrad/train/config/config.hpp>
#include <xgrad/train/config/keys.hpp>

namespace xgrad {
namespace {

const std::string kShort = "[task]\nname = 'reverse'\n[train]\nsteps = 10\n";

using Differences = std::vector<ConfigDifference>;

Config with(const std::vector<std::string>& overrides) {
  return parse_config(kShort, "c.toml", overrides);
}

TEST(Config, TakesTheDefaultsOfTheStructAndOfTheTask) {
  const Config config = with({});
  EXPECT_EQ(config.task, "reverse");
  EXPECT_EQ(config.task_options, defaults(find_task("reverse").options));
  EXPECT_EQ(config.train.steps, 10u);
  Config expected;
  expected.task = config.task;
  expected.task_options = config.task_options;
  expected.train.steps = 10;
  EXPECT_TRUE(differences(config, expected).empty());
  EXPECT_EQ(to_toml(config), to_toml(expected));
}

TEST(Config, ReadsEverySection) {
  const Config config = parse_config(
      "[task]\nname = 'sort'\nlength = 6\nsymbols = 3\n"
      "[model]\nwidth = 48\nheads = 3\nlayers = 0\ndropout = 0\nfinal_norm = false\nactivation = "
      "'relu'\n"
      "[optim]\nname = 'sgd'\nlr = 1\n"
      "[schedule]\nname = 'linear'\nwarmup = 20\n"
      "[train]\nepochs = 3\nseed = 9223372036854775807\nclip = 0\nthreads = 2\n"
      "[log]\nevery = 7\n[run]\ndir = 'out/\"x\"'\n[expect]\naccuracy = 1\nparameters = "
      "42\nwithin_steps = 9\n",
      "c.toml", {});
  EXPECT_EQ(get_int(config.task_options, "length"), 6);
  EXPECT_EQ(get_int(config.task_options, "symbols"), 3);
  EXPECT_EQ(config.model.width, 48u);
  EXPECT_EQ(config.model.heads, 3u);
  EXPECT_EQ(config.model.layers, 0u);
  EXPECT_EQ(config.model.dropout, 0.0);
  EXPECT_FALSE(config.model.final_norm);
  EXPECT_EQ(config.model.activation, "relu");
  EXPECT_EQ(config.optim.name, "sgd");
  EXPECT_EQ(config.optim.lr, 1.0);
  EXPECT_EQ(config.schedule.name, "linear");
  EXPECT_EQ(config.schedule.warmup, 20u);
  EXPECT_EQ(config.train.steps, 0u);
  EXPECT_EQ(config.train.epochs, 3u);
  EXPECT_EQ(config.train.seed, 9223372036854775807u);
  EXPECT_EQ(config.train.threads, 2);
  EXPECT_EQ(config.log_every, 7u);
  EXPECT_EQ(config.run_dir, "out/\"x\"");
  EXPECT_EQ(config.expect.accuracy, 1.0);
  EXPECT_EQ(config.expect.parameters, 42u);
  EXPECT_EQ(config.expect.within_steps, 9u);
}

TEST(Config, OverridesAreTomlOrBareWords) {
  EXPECT_EQ(with({"optim.lr=3e-4"}).optim.lr, 3e-4);
  EXPECT_EQ(with({"optim.lr=1"}).optim.lr, 1.0);
  EXPECT_EQ(with({"optim.name=sgd"}).optim.name, "sgd");
  EXPECT_EQ(with({"optim.name=\"sgd\""}).optim.name, "sgd");
  EXPECT_EQ(with({"optim.name='sgd'"}).optim.name, "sgd");
  EXPECT_FALSE(with({"model.final_norm=false"}).model.final_norm);
  EXPECT_EQ(with({"train.seed=1_000"}).train.seed, 1000u);
  EXPECT_EQ(with({"run.dir=/tmp/runs/a-b_1.2"}).run_dir, "/tmp/runs/a-b_1.2");
  EXPECT_EQ(with({"run.dir=2024 runs"}).run_dir, "2024 runs");
  EXPECT_EQ(with({"run.dir=C:\\runs"}).run_dir, "C:\\runs");
  EXPECT_EQ(get_int(with({"task.length=5"}).task_options, "length"), 5);
  EXPECT_EQ(with({"task.name=copy"}).task, "copy");
  EXPECT_EQ(with({"optim.lr=1", "optim.lr=2"}).optim.lr, 2.0);
  EXPECT_EQ(with({"expect.accuracy=0.5"}).expect.accuracy, 0.5);
  // The config's own fault is gone with its value.
  EXPECT_EQ(parse_config(kShort + "batch = 'x'\n", "c.toml", {"train.batch=4"}).train.batch, 4u);
}

TEST(Config, AnOverriddenLengthReplacesTheOtherUnit) {
  EXPECT_EQ(with({"train.epochs=3"}).train.steps, 0u);
  EXPECT_EQ(with({"train.epochs=3"}).train.epochs, 3u);
  const std::string epochs = "task.name='copy'\ntrain.epochs=9\n";
  EXPECT_EQ(parse_config(epochs, "c.toml", {"train.steps=3"}).train.epochs, 0u);
  EXPECT_THROW(parse_config(epochs, "c.toml", {"train.steps=3", "train.epochs=1"}), ConfigError);
}

TEST(Config, DottedKeysInlineTablesByteOrderMarkAndCarriageReturns) {
  const std::string plain = to_toml(with({"optim.lr=0.5"}));
  for (const std::string text :
       {"task.name = 'reverse'\ntrain.steps = 10\noptim.lr = 0.5\n",
        "task = {'name' = 'reverse'} # é\r\ntrain = {steps = 10}\r\noptim = {lr = 0.5}\r\n",
        "\xef\xbb\xbf[optim]\nlr=0.5\n[train]\nsteps=10\n[task]\nname=\"reverse\""}) {
    EXPECT_EQ(to_toml(parse_config(text, "c.toml", {})), plain) << text;
  }
}

TEST(Config, PrintsSectionsInAFixedOrderAndLeavesExecutionOut) {
  const Config config = with({"train.threads=2", "expect.accuracy=0.99", "optim.lr=1e-5"});
  const std::string text = to_toml(config), stored = to_toml(config, false);
  std::string headings;
  for (std::size_t at = 0; (at = text.find('[', at)) != std::string::npos; ++at) {
    if (at > 0 && text[at - 1] != '\n') continue;  // a list
    headings += text.substr(at, text.find(']', at) - at + 1);
  }
  EXPECT_EQ(headings, "[task][model][optim][schedule][train][log][run][mpi][expect]");
  EXPECT_TRUE(text.starts_with("[task]\nname = \"reverse\"\nlength = "));
  EXPECT_NE(text.find("\nlr = 1e-05\n"), std::string::npos);
  EXPECT_NE(text.find("\n[expect]\naccuracy = 0.99\n"), std::string::npos);
  EXPECT_NE(text.find("\nthreads = 2\n"), std::string::npos);
  for (const char* absent : {"\nthreads = ", "[log]", "[run]"}) {
    EXPECT_EQ(stored.find(absent), std::string::npos) << absent;
  }
  EXPECT_TRUE(differences(config, parse_config(stored, "stored", {})).empty());
}

TEST(Config, WithinStepsNeedsAnotherClaim) {
  const std::string text = kShort + "[expect]\nwithin_steps = 9\n";
  EXPECT_THROW(parse_config(text, "c.toml", {}), ConfigError);
  EXPECT_NO_THROW(parse_config(text + "r2 = 0.5\n", "c.toml", {}));
}

// A value that the spec allows; strings also with what TOML must escape.
OptionValue random_value(const OptionSpec& spec, const Rng& rng) {
  if (std::holds_alternative<bool>(spec.fallback)) return rng.below(2, 0) == 1;
  if (std::holds_alternative<std::string>(spec.fallback)) {
    if (!spec.choices.empty()) return spec.choices[rng.below(spec.choices.size(), 0)];
    std::string text = spec.file ? "/a file" : "";  // a relative one would come back absolute
    const std::vector<std::string> parts = {"a", "\"", "\\", "\n", "\x7f", "\x01",
                                            "é", "#",  "'",  " ",  "=",    "日"};
    for (std::uint64_t i = rng.below(8, 0); i > 0; --i) text += parts[rng.below(parts.size(), i)];
    return text;
  }
  const double min = std::max(spec.min, -1e6), max = std::min(spec.max, 1e6);
  if (std::holds_alternative<std::int64_t>(spec.fallback)) {
    return std::int64_t(min) + std::int64_t(rng.below(std::uint64_t(max - min) + 1, 0));
  }
  const double spread = std::pow(2.0, -double(rng.below(300, 1)));  // tiny values too
  const auto number = [&](std::uint64_t i) {
    return std::clamp(min + (max - min) * rng.uniform(i) * spread, spec.min, spec.max);
  };
  if (const auto* list = std::get_if<Numbers>(&spec.fallback)) {
    Numbers numbers;
    while (numbers.size() < list->size()) numbers.push_back(number(numbers.size()));
    return numbers;
  }
  return number(0);
}

// A config holds nothing for an optimizer or a schedule that it does not choose.
void drop_keys_of_others(Config& config) {
  for (const detail::ConfigKey& key : detail::config_keys()) {
    const std::string name = key.section == "optim" ? config.optim.name : config.schedule.name;
    if (!key.read_by(name)) key.set(config, *key.get(Config()));
  }
}

// Nor for a model or a loss.
void drop_settings_of_others(Config& config) {
  ModelConfig& model = config.model;
  const bool mlp = model.kind.find("mlp") != std::string::npos;
  model.window = model.kind == "window_mlp" ? model.window | 1 : ModelConfig().window;
  if (model.positions != "relative_bias") model.max_distance = ModelConfig().max_distance;
  if (model.kind != "encoder_decoder" || model.positions != "rotary") model.cross_positions = false;
  if (model.init_from.empty()) {
    model.init_strict = true;
    model.init_noise = 0;
  }
  if (mlp) config.train.recompute = false;
  if (mlp || model.heads == 1 || model.layers == 0 ||
      model.attention_activation.ends_with("relu") || config.train.recompute) {
    config.train.head_diversity = 0;
  }
  if (float(config.optim.eps) == 0) config.train.precision = "double";
  if (config.train.loss != "huber") config.train.huber_delta = TrainConfig().huber_delta;
  if (config.train.loss != "auto" && config.train.loss != "cross_entropy")
    config.train.label_smoothing = 0;
  const TrainConfig defaults;
  config.train.class_weights.clear();
  config.train.balanced_classes = config.train.loss == "cross_entropy";
  if (config.train.ema > 0) config.train.swa_start = 0;
  if (config.train.swa_start == 0) config.train.swa_every = defaults.swa_every;
  if (config.train.curriculum_start == 0 || config.train.steps == 0) {
    config.train.curriculum_start = config.train.curriculum_steps = 0;
  }
  if (config.model.init != "trunc_normal") config.model.init_std = ModelConfig().init_std;
  if (config.model.kind.find("mlp") != std::string::npos) {
    config.model.stochastic_depth = 0;
    config.model.init_scaled_residuals = false;
  }
}

std::vector<ParameterGroup> random_groups(const Rng& rng) {
  std::vector<ParameterGroup> groups(rng.below(4, 0));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Rng own = rng / i;
    groups[i].match = "encoder.*\"\\" + std::to_string(i);
    if (own.below(2, 1) == 1) {
      groups[i].freeze = true;
      continue;
    }
    groups[i].lr_scale = own.uniform(2) * double(own.below(3, 3));
    if (own.below(2, 4) == 1) groups[i].weight_decay = own.uniform(5);
  }
  return groups;
}

bool is_valid(const Config& config) {
  try {
    parse_config(to_toml(config), "", {});
    return true;
  } catch (const ConfigError&) {
    return false;
  }
}

TEST(Config, EveryValidConfigReadsBackAsItself) {
  int tested = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Rng rng = Rng(17) / i;
    const TaskEntry& task = tasks()[rng.below(tasks().size(), 0)];
    Config config;
    for (const detail::ConfigKey& key : detail::config_keys()) {
      const Rng own = rng / key.name();
      const bool is_set = own.below(4, 7) != 0 || key.get(config).has_value();
      if (is_set) key.set(config, random_value(key.spec, own));
    }
    config.task = task.name;
    for (const OptionSpec& spec : task.options)
      config.task_options[spec.name] = random_value(spec, rng / spec.name);
    config.log_hooks.clear();  // there are none
    std::erase_if(config.run_dir, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
    config.model.width = config.model.heads * (1 + rng.below(8, 1));  // the rules between keys
    (rng.below(2, 2) == 0 ? config.train.steps : config.train.epochs) = 0;
    config.schedule.warmup = std::min(config.schedule.warmup, config.train.steps);
    drop_keys_of_others(config);
    drop_settings_of_others(config);
    config.optim.groups = random_groups(rng / "groups");
    if (!is_valid(config)) continue;  // a rule of the task
    ++tested;
    const Config back = parse_config(to_toml(config), "c.toml", {});
    ASSERT_EQ(to_toml(back), to_toml(config));
    ASSERT_EQ(back.task_options, config.task_options);
    for (const detail::ConfigKey& key : detail::config_keys()) {
      ASSERT_EQ(key.get(back), key.get(config)) << key.name();
    }
  }
  EXPECT_GE(tested, 500);
}

TEST(Config, GroupsInTheirOrder) {
  const std::string inline_form =
      "optim.groups = [{match = 'embedding.*', lr_scale = 0.1, weight_decay = 0},\n"
      "                {match = 'head.*', freeze = true}]\n";
  const std::string long_form =
      "[[optim.groups]]\nmatch = 'embedding.*'\nlr_scale = 0.1\nweight_decay = 0\n"
      "[[optim.groups]]\nmatch = 'head.*'\nfreeze = true\n";
  const std::string start = "task.name = 'reverse'\ntrain.steps = 10\n";
  for (const std::string& text : {inline_form, long_form}) {
    const auto groups = parse_config(start + text, "c.toml", {}).optim.groups;
    ASSERT_EQ(groups.size(), 2u);
    EXPECT_EQ(groups[0].match, "embedding.*");
    EXPECT_EQ(groups[0].lr_scale, 0.1);
    EXPECT_EQ(groups[0].weight_decay, 0.0);
    EXPECT_FALSE(groups[0].freeze);
    EXPECT_EQ(groups[1].lr_scale, 1.0);
    EXPECT_FALSE(groups[1].weight_decay);
    EXPECT_TRUE(groups[1].freeze);
  }
  const Config config = with({"optim.groups=[{match='*', lr_scale=0.5}]"});
  EXPECT_EQ(config.optim.groups.at(0).lr_scale, 0.5);
  EXPECT_EQ(differences(with({}), config),
            Differences({{"optim.groups", "nothing", "[  {match = \"*\", lr_scale = 0.5},]"}}));
  EXPECT_TRUE(parse_config(start + inline_form, "", {"optim.groups=[]"}).optim.groups.empty());
}

// A command line that chooses another optimizer means it.
TEST(Config, AnOverriddenChoiceLeavesOutTheKeysOfTheOther) {
  const std::string text = kShort + "[optim]\nbetas = [0.9, 0.98]\n[schedule]\nfinal = 0.1\n";
  const Config config =
      parse_config(text, "c.toml", {"optim.name=sgd", "optim.momentum=0.5", "schedule.name=noam"});
  EXPECT_EQ(config.optim.betas, OptimConfig().betas);
  EXPECT_EQ(config.optim.momentum, 0.5);
  EXPECT_THROW(parse_config(text, "c.toml", {"optim.name=sgd", "optim.betas=[0.5, 0.9]"}),
               ConfigError);
}

TEST(Config, NamesWhatDiffers) {
  const Config a = with({"run.dir=a", "train.threads=1"});
  EXPECT_EQ(differences(a, with({"optim.lr=3e-4", "model.norm=post", "expect.accuracy=0.9",
                                 "task.length=4", "run.dir=b", "log.every=3"})),
            (Differences{{"task.length", "16", "4"},
                         {"model.norm", "\"pre\"", "\"post\""},
                         {"optim.lr", "0.001", "0.0003"},
                         {"expect.accuracy", "nothing", "0.9"}}));
  EXPECT_EQ(differences(with({"expect.accuracy=0.9"}), a),
            (Differences{{"expect.accuracy", "0.9", "nothing"}}));
  EXPECT_EQ(to_string({"optim.lr", "0.001", "0.0003"}), "optim.lr: 0.001 -> 0.0003");
}

TEST(Config, NamesTheKeysOfAnotherTask) {
  Config a = with({}), b = with({});
  b.task = "other";
  b.task_options = {{"pages", std::int64_t(3)}};
  const auto said = differences(a, b);
  EXPECT_EQ(said.front(), (ConfigDifference{"task.name", "\"reverse\"", "\"other\""}));
  EXPECT_EQ(said.back(), (ConfigDifference{"task.pages", "nothing", "3"}));
  EXPECT_EQ(said.size(), 2 + a.task_options.size());
}

TEST(Config, DescribesEveryKeyWithItsDefault) {
  const std::string all = describe_config();
  for (const detail::ConfigKey& key : detail::config_keys()) {
    EXPECT_NE(all.find("\n  " + key.spec.name + " "), std::string::npos) << key.name();
    EXPECT_NE(all.find(key.spec.help), std::string::npos) << key.name();
    EXPECT_TRUE(key.spec.help.ends_with('.')) << key.name();
  }
  for (const TaskEntry& task : tasks())
    EXPECT_NE(all.find('"' + task.name + '"'), std::string::npos);
  EXPECT_EQ(describe_config("schedule.warmup"), describe_config("warmup"));
  EXPECT_TRUE(describe_config("optim.lr").starts_with("[optim]\n  lr  0.001  above 0  "));
  EXPECT_TRUE(describe_config("log").starts_with("[log]\n  every        50     from 1 to "));
  EXPECT_NE(describe_config("task.length").find("length  16"), std::string::npos);
  EXPECT_EQ(all.find("\n\n\n"), std::string::npos);
}

TEST(Config, SaysWhatToDescribeInstead) {
  const auto said = [](const std::string& key) -> std::string {
    try {
      return describe_config(key);
    } catch (const ConfigError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(said("learning_rate"),
            "there is no key or section 'learning_rate'; did you mean optim.lr?");
  EXPECT_EQ(said("model.lr"), "there is no key or section 'model.lr'; did you mean optim.lr?");
  EXPECT_EQ(said("modle"), "there is no key or section 'modle'; did you mean [model]?");
}

// Every default lies within its own row's limits, and no key is defined twice.
TEST(Config, TheTableIsSound) {
  std::map<std::string, int> seen;
  for (const detail::ConfigKey& key : detail::config_keys()) {
    EXPECT_EQ(seen[key.name()]++, 0) << key.name();
    const bool required = key.name() == "task.name" || key.section == "expect";
    EXPECT_EQ(required ? "" : problem(key.spec, key.spec.fallback), "") << key.name();
  }
  for (const TaskEntry& task : tasks()) {
    for (const OptionSpec& spec : task.options) {
      EXPECT_EQ(problem(spec, spec.fallback), "") << task.name << "." << spec.name;
      EXPECT_NE(spec.name, "name") << task.name;
    }
  }
}

// The resolved config may lie anywhere, so it names files in full.
TEST(Config, FilesOfATaskLieRelativeToTheConfig) {
  const std::string here = std::filesystem::current_path().string();
  const auto train_of = [](const std::string& value, const std::string& origin,
                           const std::vector<std::string>& overrides = {}) {
    const std::string text =
        "[task]\nname = 'files'\ntrain = '" + value + "'\n[train]\nsteps = 1\n";
    return get_string(parse_config(text, origin, overrides).task_options, "train");
  };
  EXPECT_EQ(train_of("a.csv", "some/folder/c.toml"), here + "/some/folder/a.csv");
  EXPECT_EQ(train_of("../a.csv", "some/folder/c.toml"), here + "/some/a.csv");
  EXPECT_EQ(train_of("/data/a.csv", "some/folder/c.toml"), "/data/a.csv");
  EXPECT_EQ(train_of("a.csv", "c.toml"), here + "/a.csv");
  EXPECT_EQ(train_of("", "some/c.toml"), "");
  EXPECT_EQ(train_of("a.csv", "some/c.toml", {"task.train=b.csv"}), here + "/b.csv")
      << "on a command line, relative to where that is";
  for (const std::string task : {"cmu", "fashion_mnist", "kjv", "languages", "wordnet"}) {
    const std::string text = "[task]\nname = '" + task + "'\npath = 'data'\n[train]\nsteps = 1\n";
    EXPECT_EQ(get_string(parse_config(text, "some/c.toml", {}).task_options, "path"),
              here + "/some/data")
        << task;
  }
}

}  // namespace
}  // namespace xgrad

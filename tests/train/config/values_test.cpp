// More of what is wrong with a config: the values of single keys, and slips of the pen.
#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <set>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {
namespace {

struct Bad {
  std::string text;     ///< behind two good lines
  std::string message;  ///< the whole, with the file's name left out
};

const std::vector<Bad> kBad = {
    // Slips of the pen.
    {"optim.lr = 0x1p3\n",
     "3:12: Error while parsing hexadecimal floating-point: hexadecimal floating-point values are "
     "not supported in TOML 1.0.0 and earlier"},
    {"optim.lr = 1_e3\n",
     "3:14: Error while parsing floating-point: underscores must be followed by digits"},
    {"train.steps.x = 3\n",
     "3:7: Error while parsing key-value pair: cannot redefine existing integer as dotted "
     "key-value pair"},
    {"= 1\n",
     "3:1: Error while parsing root table: expected keys, tables, whitespace or comments, saw '='"},
    {"train\n", "3:6: Error while parsing key-value pair: expected '=', saw '\\n'"},
    {"[]\n",
     "3:2: Error while parsing table header: tables with blank bare keys are explicitly "
     "prohibited"},
    {"[model\n]\n", "3:7: Error while parsing table header: expected ']', saw '\\n'"},
    {"run.dir = \"\\q\"\n", "3:13: Error while parsing string: unknown escape sequence '\\q'"},
    {"run.dir = \"\\uD800\"\n",
     "3:18: Error while parsing unicode scalar sequence: unicode surrogates (U+D800 - U+DFFF) are "
     "explicitly prohibited"},
    {"model.dropout = 0.1.2\n",
     "3:20: Error while parsing floating-point: expected decimal digit or exponent, saw '.'"},
    // Names.
    {"optim.name = 'sgd'\noptim.betas = [0.5, 0.9]\n",
     "4:7: optim.betas: is not a key of optim.name = \"sgd\", but of adam, adamw, lion"},
    {"optim.name = 'lion'\noptim.eps = 1e-6\n",
     "4:7: optim.eps: is not a key of optim.name = \"lion\", but of adagrad, adam, adamw, rmsprop"},
    {"schedule.power = 2\n",
     "3:10: schedule.power: is not a key of schedule.name = \"cosine\", but of polynomial"},
    {"log.evry = 5\n", "3:5: log.evry: unknown key; did you mean log.every?"},
    {"run.name = 'x'\n", "3:5: run.name: unknown key; there are dir"},
    {"expect.acuracy = 0.5\n", "3:8: expect.acuracy: unknown key; did you mean expect.accuracy?"},
    {"task.min_lenght = 2\n", "3:6: task.min_lenght: unknown key; did you mean task.min_length?"},
    {"[task.sub]\na = 1\n",
     "3:7: task.sub: unknown key; there are name, length, min_length, test_length, symbols, "
     "examples, validation, test"},
    {"a.b.c = 1\n",
     "3:1: a: unknown section; there are task, model, optim, schedule, train, log, run, mpi, "
     "expect"},
    {"\"\" = 1\n", "3:1: is outside of every section"},
    // Values.
    {"optim.beta1 = 0.9\n", "3:7: optim.beta1: unknown key; did you mean optim.betas?"},
    {"optim.beta2 = 0.9\n", "3:7: optim.beta2: unknown key; did you mean optim.betas?"},
    {"optim.betas = [0.9, 1]\n", "3:7: optim.betas: number 2 is 1.0, must be from 0 to below 1"},
    {"optim.betas = [0.9]\n",
     "3:7: optim.betas: is [0.9], must be a list of 2 numbers from 0 to below 1"},
    {"optim.betas = []\n",
     "3:7: optim.betas: is [], must be a list of 2 numbers from 0 to below 1"},
    {"optim.betas = 0.9\n", "3:15: optim.betas: is a number, 0.9, must be a list of numbers"},
    {"optim.name = 'rmsprop'\noptim.alpha = -0.5\n",
     "4:15: optim.alpha: is -0.5, must be from 0 to below 1"},
    {"optim.weight_decay = -1\n", "3:22: optim.weight_decay: is -1, must be at least 0"},
    {"optim.eps = 0\n", "3:13: optim.eps: is 0, must be above 0"},
    {"optim.eps = 1e-50\n",
     "3:13: optim.eps: rounds to 0 with train.precision = \"float\"; choose a larger value"},
    {"optim.name = 'sgd'\noptim.momentum = 1\n",
     "4:18: optim.momentum: is 1, must be from 0 to below 1"},
    {"schedule.warmup = -1\n", "3:19: schedule.warmup: is -1, must be from 0 to 1e+12"},
    {"schedule.name = 'cosine_annealing'\n",
     "3:17: schedule.name: is \"cosine_annealing\", must be one of cosine, constant, one_cycle, "
     "linear, polynomial, plateau, step, noam, wsd"},
    {"schedule.name = 'plateau'\nschedule.gamma = 1\n",
     "4:18: schedule.gamma: is 1, must be above 0 to below 1"},
    {"train.clip = -1\n", "3:14: train.clip: is -1, must be at least 0"},
    {"train.accumulate = 0\n", "3:20: train.accumulate: is 0, must be from 1 to 1048576"},
    {"train.threads = 100000\n", "3:17: train.threads: is 100000, must be from 0 to 1024"},
    {"train.save_every = -5\n", "3:20: train.save_every: is -5, must be from 0 to 1e+12"},
    {"train.evaluate_every = 2.5\n",
     "3:24: train.evaluate_every: is a number, 2.5, must be an integer"},
    {"train.ema = 1\n", "3:13: train.ema: is 1, must be from 0 to below 1"},
    {"train.class_weights = [1, -2]\n",
     "3:7: train.class_weights: number 2 is -2.0, must be at least 0"},
    {"train.class_weights = [1, nan]\n",
     "3:7: train.class_weights: number 2 is nan, must be finite"},
    {"train.class_weights = 'balance'\n",
     "3:23: train.class_weights: is \"balance\", must be a list of numbers at least 0, or "
     "\"balanced\""},
    {"train.class_weights = 2\n",
     "3:23: train.class_weights: is an integer, 2, must be a list of numbers"},
    {"train.class_weights = [1, 'a']\n",
     "3:7: train.class_weights: is an array, must be a list of numbers"},
    {"train.class_weights = [1, 2]\ntrain.loss = 'mse'\n",
     "3:7: train.class_weights: must be [] unless train.loss is \"auto\" or \"cross_entropy\"; it "
     "is mse"},
    {"train.clip_value = -1\n", "3:20: train.clip_value: is -1, must be at least 0"},
    {"train.dropout_end = 1.5\n", "3:21: train.dropout_end: is 1.5, must be from 0 to 1"},
    {"train.dropout_end = 0.5\nmodel.dropout = 0\nmodel.attention_dropout = 0\n",
     "3:21: train.dropout_end: has no effect, because every dropout rate is 0"},
    {"train.swa_every = 2\n", "3:19: train.swa_every: needs train.swa_start"},
    {"train.swa_start = 5\ntrain.ema = 0.9\n",
     "3:19: train.swa_start: cannot be combined with train.ema: a run keeps one average"},
    {"train.swa_start = 8\ntrain.swa_every = 3\n",
     "3:19: train.swa_start: leaves nothing to average: the first weights are those of step 11, "
     "and "
     "train.steps is 10"},
    {"train.curriculum_start = 5\n",
     "3:26: train.curriculum_start: set both train.curriculum_start and train.curriculum_steps, or "
     "neither"},
    {"model.init_noise = 0.1\n",
     "3:20: model.init_noise: needs model.init_from, the weights to add noise to"},
    {"model.init_noise = -0.1\nmodel.init_from = 'constructed:reverse'\n",
     "3:20: model.init_noise: is -0.1, must be from 0 to 100"},
    {"model.stochastic_depth = 1\n",
     "3:26: model.stochastic_depth: is 1, must be from 0 to below 1"},
    {"model.stochastic_depth = 0.1\nmodel.kind = 'mlp'\nmodel.pool = 'mean'\n",
     "3:26: model.stochastic_depth: skips the sublayers of an encoder; kind mlp has none"},
    {"model.init = 'xavier'\n",
     "3:14: model.init: is \"xavier\", must be one of default, xavier_normal, "
     "xavier_uniform, orthogonal, kaiming_normal, trunc_normal, kaiming_uniform"},
    {"model.init_std = 0.1\n",
     "3:18: model.init_std: has an effect only with model.init = \"trunc_normal\", not default"},
    {"train.patience = -1\n", "3:18: train.patience: is -1, must be from 0 to 1e+12"},
    {"train.dead_gradients_every = -1\n",
     "3:30: train.dead_gradients_every: is -1, must be from 0 to 1e+12"},
    {"train.max_seconds = -3\n", "3:21: train.max_seconds: is -3, must be at least 0"},
    {"train.on_spike = 'ignore'\n",
     "3:18: train.on_spike: is \"ignore\", must be one of stop, skip, rollback"},
    {"train.spike = -2\n", "3:15: train.spike: is -2, must be at least 0"},
    {"train.loss = 'crossentropy'\n",
     "3:14: train.loss: is \"crossentropy\", must be one of cross_entropy, binary_cross_entropy, "
     "auto, mse, huber, mae; did you mean \"cross_entropy\"?"},
    {"train.label_smoothing = 1\n", "3:25: train.label_smoothing: is 1, must be from 0 to below 1"},
    {"train.huber_delta = 0\ntrain.loss = 'huber'\n",
     "3:21: train.huber_delta: is 0, must be above 0"},
    {"model.kind = 'transformer'\n",
     "3:14: model.kind: is \"transformer\", must be one of encoder, window_mlp, mlp, "
     "encoder_decoder"},
    {"model.positions = 'rope'\n",
     "3:19: model.positions: is \"rope\", must be one of none, rotary, alibi, learned, learned_2d, "
     "sinusoidal, relative_bias, relative_index"},
    {"model.activation = 'tanh'\n",
     "3:20: model.activation: is \"tanh\", must be one of gelu, relu, silu, gelu_tanh"},
    {"model.pool = 'first'\n",
     "3:14: model.pool: is \"first\", must be one of cls, mean, max, attention"},
    {"model.mask = 'padding'\n",
     "3:14: model.mask: is \"padding\", must be one of none, causal, adjacency"},
    {"model.score = 'product'\n",
     "3:15: model.score: is \"product\", must be one of dot, cosine, additive"},
    {"model.feedforward = -1\n", "3:21: model.feedforward: is -1, must be from 0 to 1048576"},
    {"model.attention_dropout = 1.5\n",
     "3:27: model.attention_dropout: is 1.5, must be from 0 to below 1"},
    {"model.norm_eps = 0\n", "3:18: model.norm_eps: is 0, must be above 0 to 1"},
    {"model.temperature = 0\n", "3:21: model.temperature: is 0, must be above 0"},
    {"model.init_from = 3\n", "3:19: model.init_from: is an integer, 3, must be a string"},
    {"model.window = 0\n", "3:16: model.window: is 0, must be from 1 to 65535"},
    {"model.patch = 0\n", "3:15: model.patch: is 0, must be from 1 to 1024"},
    {"model.patch_overlap = 1025\n", "3:23: model.patch_overlap: is 1025, must be from 0 to 1024"},
    {"model.qkv_bias = 'yes'\n", "3:18: model.qkv_bias: is a string, \"yes\", must be a boolean"},
    {"model.width = 1_000_000\n", "3:15: model.width: is 1000000, must be from 1 to 65536"},
    {"log.every = 0\n", "3:13: log.every: is 0, must be from 1 to 1e+12"},
    {"log.tensorboard = 'on'\n", "3:19: log.tensorboard: is a string, \"on\", must be a boolean"},
    {"expect.parameters = -1\n", "3:21: expect.parameters: is -1, must be from 1 to 1e+12"},
    {"expect.r2 = 2\n", "3:13: expect.r2: is 2, must be from -1e+12 to 1"},
    {"expect.within_steps = 0\n", "3:23: expect.within_steps: is 0, must be from 1 to 1e+12"},
    {"expect.seconds = 0\n", "3:18: expect.seconds: is 0, must be above 0"},
    {"expect.loss = nan\n", "3:15: expect.loss: is nan, must be finite"},
    {"task.examples = 0\n", "3:17: task.examples: is 0, must be from 1 to 1e+09"},
    {"task.validation = 'a'\n", "3:19: task.validation: is a string, \"a\", must be an integer"},
    {"task.length = 0\n", "3:15: task.length: is 0, must be from 1 to 65536"},
    {"train.seed = 1.0\n", "3:14: train.seed: is a number, 1.0, must be an integer"},
    {"train.seed = 1e3\n", "3:14: train.seed: is a number, 1000.0, must be an integer"},
    {"train.seed = 0b101\n",
     "3:14: train.seed: is an integer in another base than 10, must be an integer"},
    {"optim.groups = [{match = '*', lr_scale = 'x'}]\n",
     "3:42: optim.groups[0].lr_scale: is a string, \"x\", must be a number"},
    {"optim.groups = [{match = '*'}, 3]\n",
     "3:7: optim.groups: must be an array of tables, as [{match = \"embedding.*\", lr_scale = "
     "0.1}]"},
};

TEST(ConfigValues, EachIsSaidWithItsPlace) {
  std::set<std::string> different;
  for (const Bad& bad : kBad) {
    std::string message = "accepted";
    try {
      parse_config("task.name = 'reverse'\ntrain.steps = 10\n" + bad.text, "c.toml", {});
    } catch (const ConfigError& error) {
      message = error.what();
    }
    EXPECT_EQ(message, "c.toml:" + bad.message) << bad.text;
    different.insert(bad.message.substr(bad.message.find(' ')));
  }
  EXPECT_EQ(different.size(), kBad.size());
}

TEST(ConfigValues, ASmallEpsIsForDouble) {
  const std::string good = "task.name = 'reverse'\ntrain.steps = 10\noptim.eps = ";
  EXPECT_NO_THROW(parse_config(good + "1e-40\n", "c.toml", {}));
  EXPECT_NO_THROW(parse_config(good + "1e-50\n", "c.toml", {"train.precision=double"}));
}

TEST(ConfigValues, AnOverrideThatNeedsQuotesIsShownWithThem) {
  const std::string start = "task.name = 'reverse'\ntrain.steps = 10\n";
  for (const std::string text : {"a,b", "a = b", "#", "1 2 = 3"}) {
    EXPECT_EQ(
        test::message_of<ConfigError>([&] { parse_config(start, "c.toml", {"run.dir=" + text}); }),
        "override 'run.dir=" + text +
            "': run.dir: the value is not a TOML expression; this text needs quotes: "
            "'run.dir=\"" +
            text + "\"'");
    EXPECT_EQ(parse_config(start, "c.toml", {"run.dir=\"" + text + "\""}).run_dir, text);
  }
}

}  // namespace
}  // namespace xgrad

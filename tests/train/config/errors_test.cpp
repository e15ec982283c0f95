// Every way in which a config can be wrong: what is said of it, and where.
#include <gtest/gtest.h>
#include <support/errors.hpp>

#include <algorithm>
#include <sstream>

#include <xgrad/autograd/check.hpp>
#include <xgrad/train/config/config.hpp>

namespace xgrad {
namespace {

std::string message_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return test::message_of<ConfigError>([&] { parse_config(text, "c.toml", overrides); });
}

struct Bad {
  std::string text;
  std::string message;  ///< with c.toml's name left out of each line
};

// The first two lines of most cases, so that the third is what is wrong.
const std::string kStart = "task.name = 'reverse'\ntrain.steps = 10\n";

const std::vector<Bad> kBad = {
    // Syntax.
    {"[train]\nsteps = 1\n", "1:1: task.name: is missing; there are "},
    {"\n\n[train]\nsteps = 1\n", "1:1: task.name: is missing; there are "},
    {"[train]\nsteps = 1\n[task]\n", "3:2: task.name: is missing; there are "},
    {"[task\nname = 'reverse'\n", "1:6: Error while parsing table header: expected ']', saw '\\n'"},
    {"[task]\nname 'reverse'\n", "2:6: Error while parsing key-value pair: expected '='"},
    {"[task]\nname = \n", "2:8: Error while parsing key-value pair: expected value, saw '\\n'"},
    {"[task]\nname = \"reverse\n", "2:16: Error while parsing string: "},
    {"[task]\nname = reverse\n", "2:8: Error while parsing value: could not determine value type"},
    {kStart + "optim.lr = .5\n",
     "3:12: Error while parsing floating-point: expected decimal digit, saw '.'"},
    {kStart + "train.seed = 007\n", "3:17: Error while parsing decimal integer: leading zeroes"},
    {kStart + "optim.lr = 1e-3 clip = 2\n", "3:17: Error while parsing key-value pair: "},
    {kStart + "model.final_norm = True\n",
     "3:20: Error while parsing boolean: expected 'true', saw 'T'"},
    {kStart + "train.seed = 99999999999999999999\n", "3:34: Error while parsing decimal integer: "},
    {kStart + "optim.lr = 1e999\n", "3:17: Error while parsing floating-point: "},
    {"task:\n  name: reverse\n", "1:5: Error while parsing key-value pair: expected '=', saw ':'"},
    {"{\"task\": {\"name\": \"reverse\"}}", "1:1: Error while parsing root table: "},
    {std::string("task\0name", 9), "1:5: "},
    {"\x7f"
     "ELF\x02\x01\x01",
     "1:1: "},
    {"\x89HDF\r\n\x1a\n", "1:1: an HDF5 file; a config is TOML"},
    {"[task]\nname = '\xff\xfe'\n", "2:8: Encountered invalid utf-8 sequence"},
    {kStart + "# é 日\n\"é\".é = 1\n",
     "4:5: a character beyond ASCII outside of a string or comment"},
    {kStart + "optim.lr = 1 é\n", "3:14: a character beyond ASCII outside of a string or comment"},
    {kStart + "run.dir = '\"é\\' é\n",
     "3:17: a character beyond ASCII outside of a string or comment"},
    {kStart + "run.dir = \"\"\"a\n\"\"\"\n", "3:11: a multi-line string, which no key takes"},
    {kStart + "run.dir = \'\'\'a\'\'\'\n", "3:11: a multi-line string, which no key takes"},
    // Twice.
    {kStart + "[optim]\nlr = 1\nlr = 2\n",
     "5:6: Error while parsing key-value pair: cannot redefine existing integer 'lr'"},
    {kStart + "[optim]\nlr = 1\n[optim]\neps = 1\n",
     "5:1: Error while parsing table header: cannot redefine existing table 'optim'"},
    {kStart + "train.steps = 11\n",
     "3:15: Error while parsing key-value pair: cannot redefine existing integer 'train.steps'"},
    // Unknown names.
    {kStart + "modell.width = 64\n", "3:1: modell: unknown section; did you mean [model]?"},
    {kStart + "[optimizer]\nlr = 1\nname = 'sgd'\n",
     "3:2: optimizer: unknown section; did you mean [optim]?"},
    {kStart + "model.widht = 64\n", "3:7: model.widht: unknown key; did you mean model.width?"},
    {kStart + "optim.learning_rate = 0.1\n",
     "3:7: optim.learning_rate: unknown key; did you mean optim.lr?"},
    {kStart + "[train]\n",
     "3:1: Error while parsing table header: cannot redefine existing table 'train'"},
    {kStart + "model.lr = 0.1\n", "3:7: model.lr: unknown key; did you mean optim.lr?"},
    {kStart + "model.zzzzzzzz = 1\n", "3:7: model.zzzzzzzz: unknown key; there are "},
    {kStart + "task.lenght = 8\n", "3:6: task.lenght: unknown key; did you mean task.length?"},
    {kStart + "lr = 0.1\n", "3:1: lr: is outside of every section; did you mean optim.lr?"},
    {kStart + "batch_size = 8\n",
     "3:1: batch_size: is outside of every section; did you mean train.batch?"},
    {kStart + "model = 4\n", "3:1: model: is a section, written [model]"},
    {kStart + "[[model]]\nwidth = 4\n", "3:3: model: is a section, written [model]"},
    {kStart + "Model.width = 4\n", "3:1: Model: unknown section; did you mean [model]?"},
    {"train.steps = 1\ntask.name = 'revers'\ntask.length = 4",
     "2:13: task.name: there is no task \"revers\"; there are reverse, "},
    // Types.
    {kStart + "model.width = '64'\n", "3:15: model.width: is a string, \"64\", must be an integer"},
    {kStart + "model.width = 64.0\n", "3:15: model.width: is a number, 64.0, must be an integer"},
    {kStart + "model.width = true\n", "3:15: model.width: is a boolean, true, must be an integer"},
    {kStart + "model.width = 0x40\n",
     "3:15: model.width: is an integer in another base than 10, must be an integer"},
    {kStart + "model.width = [64]\n",
     "3:7: model.width: is a list of numbers, [64.0], must be an integer"},
    {kStart + "model.width = {a = 1}\n", "3:7: model.width: is a table, must be an integer"},
    {kStart + "[model.width]\na = 1\n", "3:8: model.width: is a table, must be an integer"},
    {kStart + "optim.lr = 2020-01-01\n", "3:12: optim.lr: is a date or time, must be a number"},
    {kStart + "optim.lr = '1e-3'\n", "3:12: optim.lr: is a string, \"1e-3\", must be a number"},
    {kStart + "model.norm = 1\n", "3:14: model.norm: is an integer, 1, must be a string"},
    {kStart + "model.final_norm = 1\n",
     "3:20: model.final_norm: is an integer, 1, must be a boolean"},
    {kStart + "expect.accuracy = '99 %'\n",
     "3:19: expect.accuracy: is a string, \"99 %\", must be a number"},
    {kStart + "task.length = 1.5\n", "3:15: task.length: is a number, 1.5, must be an integer"},
    {"train.steps = 1\ntask.name = 3", "2:13: task.name: is an integer, 3, must be a string"},
    // Ranges.
    {kStart + "optim.lr = nan\n", "3:12: optim.lr: is nan, must be finite"},
    {kStart + "optim.lr = +inf\n", "3:12: optim.lr: is inf, must be finite"},
    {kStart + "optim.lr = 0\n", "3:12: optim.lr: is 0, must be above 0"},
    {kStart + "optim.lr = -1e-3\n", "3:12: optim.lr: is -0.001, must be above 0"},
    {kStart + "model.dropout = 1\n", "3:17: model.dropout: is 1, must be from 0 to below 1"},
    {kStart + "model.dropout = -0.1\n", "3:17: model.dropout: is -0.1, must be from 0 to below 1"},
    {kStart + "model.heads = 0\n", "3:15: model.heads: is 0, must be from 1 to 1024"},
    {kStart + "model.width = -64\n", "3:15: model.width: is -64, must be from 1 to 65536"},
    {kStart + "train.batch = 0\n", "3:15: train.batch: is 0, must be from 1 to 1048576"},
    {kStart + "train.seed = -1\n", "3:14: train.seed: is -1, must be at least 0"},
    {kStart + "expect.accuracy = 99\n", "3:19: expect.accuracy: is 99, must be from 0 to 1"},
    {kStart + "schedule.final = 1.5\n", "3:18: schedule.final: is 1.5, must be from 0 to 1"},
    {kStart + "model.norm = 'prenorm'\n",
     "3:14: model.norm: is \"prenorm\", must be one of pre, post, none, sandwich"},
    {kStart + "model.normalization = 'rmsnorm'\n",
     "3:23: model.normalization: is \"rmsnorm\", must be one of rms, layer, batch"},
    {kStart + "optim.name = 'adamm'\n",
     "3:14: optim.name: is \"adamm\", must be one of adam, adamw, adagrad, lion, "
     "sgd, rmsprop; did you mean \"adam\"?"},
    {kStart + "train.precision = 'flaot'\n",
     "3:19: train.precision: is \"flaot\", must be one of float, bf16, double; did you mean "
     "\"float\"?"},
    // Rules between keys.
    {kStart + "model.width = 50\n",
     "3:15: model.heads: 4 heads do not divide a width of 50; change one of them, or set "
     "model.head_dim"},
    {kStart + "model.heads = 3\n",
     "3:15: model.heads: 3 heads do not divide a width of 64; change one of them, or set "
     "model.head_dim"},
    {kStart + "model.positions = 'rotary'\nmodel.head_dim = 3\n",
     "3:19: model.positions: rotary needs an even number of features per head, not 3"},
    {kStart + "model.positions = 'relative_index'\nmodel.kind = 'encoder_decoder'\n",
     "3:19: model.positions: relative_index needs the length of the output, which an "
     "encoder_decoder does not know in advance"},
    {kStart + "model.normalization = 'batch'\nmodel.kind = 'encoder_decoder'\n",
     "3:23: model.normalization: batch would leak later outputs of an encoder_decoder to earlier "
     "ones"},
    {kStart + "model.layers = 0\nmodel.kind = 'encoder_decoder'\n",
     "3:16: model.layers: is 0, must be at least 1 for an encoder_decoder, which reads its "
     "input in the layers of its decoder"},
    {kStart + "model.init_strict = false\n",
     "3:21: model.init_strict: false needs model.init_from, the weights to start from"},
    {kStart + "model.cross_positions = true\nmodel.positions = 'rotary'\n",
     "3:25: model.cross_positions: has an effect only with model.kind = \"encoder_decoder\" and "
     "model.positions = \"rotary\""},
    {kStart + "model.max_distance = 3\n",
     "3:22: model.max_distance: has an effect only with model.positions = \"relative_bias\", not "
     "learned"},
    {kStart + "model.out_proj = false\nmodel.head_dim = 3\n",
     "3:18: model.out_proj: false needs heads * head_dim = width, but 4 * 3 = "
     "12, and model.width is 64"},
    {kStart + "model.attention_mean = true\n",
     "3:24: model.attention_mean: needs another model.attention_activation than \"softmax\", "
     "whose weights sum to 1 already"},
    {kStart + "schedule.warmup = 11\n",
     "3:19: schedule.warmup: is 11, must be at most train.steps, 10"},
    {kStart + "model.window = 4\n", "3:16: model.window: is 4, must be odd"},
    {kStart + "model.window = 5\n",
     "3:16: model.window: has an effect only with model.kind = \"window_mlp\", not encoder"},
    {kStart + "train.recompute = true\nmodel.kind = 'mlp'\n",
     "3:19: train.recompute: recomputes the blocks of an encoder; kind mlp has none"},
    {kStart + "train.head_diversity = -1\n",
     "3:24: train.head_diversity: is -1, must be at least 0"},
    {kStart + "train.head_diversity = 0.1\nmodel.kind = 'mlp'\n",
     "3:24: train.head_diversity: compares attention heads; kind mlp has none"},
    {kStart + "train.head_diversity = 0.1\nmodel.heads = 1\n",
     "3:24: train.head_diversity: compares heads, and model.heads is 1"},
    {kStart + "train.head_diversity = 0.1\nmodel.layers = 0\n",
     "3:24: train.head_diversity: compares heads, and model.layers is 0"},
    {kStart + "train.head_diversity = 0.1\nmodel.attention_activation = 'relu'\n",
     "3:24: train.head_diversity: compares the directions of attention maps, and maps of "
     "model.attention_activation = \"relu\" may be all 0"},
    {kStart + "train.head_diversity = 0.1\ntrain.recompute = true\n",
     "3:24: train.head_diversity: needs the attention maps, which train.recompute does not keep"},
    {kStart + "expect.within_steps = 100\nexpect.parameters = 5\n",
     "3:23: expect.within_steps: needs a claim about a metric, such as expect.accuracy, that a "
     "validation can reach"},
    {kStart + "train.huber_delta = 0.5\n",
     "3:21: train.huber_delta: has an effect only with train.loss = \"huber\", not auto"},
    {kStart + "train.label_smoothing = 0.1\ntrain.loss = 'mse'\n",
     "3:25: train.label_smoothing: must be 0 unless train.loss is \"auto\" or "
     "\"cross_entropy\"; it is mse"},
    {kStart + "train.epochs = 2\n",
     "2:15: train.steps: set exactly one of train.steps and train.epochs, the length of the run"},
    {kStart + "optim.nesterov = true\noptim.name = 'sgd'\noptim.momentum = 0\n",
     "3:18: optim.nesterov: needs optim.momentum above 0"},
    {kStart + "schedule.name = 'step'\n",
     "3:17: schedule.every: schedule.name = \"step\" needs it, the number of steps between drops"},
    // Keys of another optimizer or schedule, even at their defaults.
    {kStart + "optim.momentum = 0.9\n",
     "3:7: optim.momentum: is not a key of optim.name = \"adamw\", but of sgd"},
    {kStart + "optim.name = 'sgd'\noptim.eps = 1e-7\n",
     "4:7: optim.eps: is not a key of optim.name = \"sgd\", but of adagrad, adam, adamw, rmsprop"},
    {kStart + "schedule.patience = 3\n",
     "3:10: schedule.patience: is not a key of schedule.name = \"cosine\", but of plateau"},
    // Groups.
    {kStart + "optim.groups = 'x'\n",
     "3:16: optim.groups: must be an array of tables, as [{match = \"embedding.*\", lr_scale = "
     "0.1}]"},
    {kStart + "optim.groups = [1]\n", "3:7: optim.groups: must be an array of tables, as "},
    {kStart + "optim.groups = [{lr_scale = 2}]\n", "3:7: optim.groups[0].match: is missing"},
    {kStart + "optim.groups = [{match = '*', lr_scale = -1}]\n",
     "3:42: optim.groups[0].lr_scale: is -1, must be at least 0"},
    {kStart + "optim.groups = [{match = '*'},\n {match = '*', frozen = true}]\n",
     "4:16: optim.groups[1].frozen: unknown key; there are match, lr_scale, weight_decay, freeze"},
    {kStart + "optim.groups = [{match = '*', lr = 2}]\n",
     "3:31: optim.groups[0].lr: unknown key; the factor of optim.lr is lr_scale"},
    {kStart + "optim.groups = [{match = '*', lr_scale = 2, freeze = true}]\n",
     "3:7: optim.groups: optim.groups[0] is frozen, so its lr_scale and weight_decay have no "
     "effect"},
    {kStart + "[[optim.groups]]\nmatch = 3\n",
     "4:9: optim.groups[0].match: is an integer, 3, must be a string"},
    {kStart + "model.width = [{a = 1}]\n",
     "3:7: model.width: is an array of tables, must be an integer"},
    {kStart + "model.width = []\n", "3:7: model.width: is an array, must be an integer"},
    {"task.name = 'reverse'\n",
     "1:1: train.steps: set exactly one of train.steps and train.epochs, the length of the run"},
    {"task.name = 'reverse'\n[train]\nseed = 3\n",
     "2:2: train.steps: set exactly one of train.steps and train.epochs, the length of the run"},
    {kStart + "task.min_length = 9\ntask.length = 8\n",
     "3:19: task.min_length: is 9, must be at most task.length, 8"},
};

TEST(ConfigErrors, EachIsSaidWithItsPlace) {
  ASSERT_GE(kBad.size(), 50u);
  for (const Bad& bad : kBad) {
    const std::string message = message_of(bad.text);
    EXPECT_TRUE(message.starts_with("c.toml:" + bad.message))
        << "config:   " << bad.text << "\nexpected: c.toml:" << bad.message
        << "\ngot:      " << message;
    EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 0) << message;
  }
}

// An empty file lacks the two things that have no default.
TEST(ConfigErrors, Empty) {
  for (const std::string empty : {"", "\n\n", "# nothing\n", "\xef\xbb\xbf", "[task]\n[train]"}) {
    const std::string message = message_of(empty);
    EXPECT_NE(message.find(": task.name: is missing; there are "), std::string::npos);
    EXPECT_NE(message.find(": train.steps: set exactly one of train.steps"), std::string::npos)
        << message;
  }
}

TEST(ConfigErrors, AllOfAFileAtOnceInTheOrderOfTheirPlaces) {
  EXPECT_EQ(message_of("[task]\nname = 'reverse'\nlenth = 8\n\n[optim]\nlr = 0\nname = 'adamww'\n\n"
                       "[modell]\nwidth = 1\n\n[train]\nepochs = 2\nbatch = '64'\n",
                       {"model.width=30", "train.epochs=x", "lr=3"}),
            "c.toml:3:1: task.lenth: unknown key; did you mean task.length?\n"
            "c.toml:6:6: optim.lr: is 0, must be above 0\n"
            "c.toml:7:8: optim.name: is \"adamww\", must be one of adamw, adam, adagrad, lion, "
            "sgd, rmsprop; did you mean "
            "\"adamw\"?\n"
            "c.toml:9:2: modell: unknown section; did you mean [model]?\n"
            "c.toml:14:9: train.batch: is a string, \"64\", must be an integer\n"
            "override 'model.width=30': model.heads: 4 heads do not divide a width of 30; change "
            "one of them, or set model.head_dim\n"
            "override 'train.epochs=x': train.epochs: is a string, \"x\", must be an integer\n"
            "override 'lr=3': expected SECTION.KEY=VALUE, as in optim.lr=3e-4");
}

// what() ends at a zero byte, and a terminal obeys an escape.
TEST(ConfigErrors, ControlCharactersHideNothing) {
  const std::string message = message_of(
      "[task]\nname = \"reverse\\u0000\"\n[model]\npositions = \"a\\u0000b\"\n\"k\\u0000ey\" = 1\n"
      "[\"sec\\u001btion\"]\n[train]\nsteps = 0\n[run]\ndir = \"r\\u0000un\"\nname = "
      "\"\\u0007\"\n");
  std::vector<std::string> lines;
  std::istringstream text(message);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  const std::vector<std::string> expected = {
      "c.toml:2:8: task.name: is \"reverse\\u0000\", must have no zero byte",
      "c.toml:4:13: model.positions: is \"a\\u0000b\", must have no zero byte",
      "c.toml:5:1: model.k\\u0000ey: unknown key; ",
      "c.toml:6:2: sec\\u001Btion: unknown section; ",
      "c.toml:8:9: train.steps: set exactly one of train.steps",
      "c.toml:10:7: run.dir: is \"r\\u0000un\", must have no zero byte",
      "c.toml:11:1: run.name: unknown key"};
  ASSERT_EQ(lines.size(), expected.size()) << message;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_TRUE(lines[i].starts_with(expected[i])) << lines[i];
  }
  EXPECT_EQ(
      message_of(kStart, {"run.dir=\"r\\u0000un\""}),
      "override 'run.dir=\"r\\u0000un\"': run.dir: is \"r\\u0000un\", must have no zero byte");
}

TEST(ConfigErrors, TheDirectoryOfARun) {
  const auto said = [](const std::string& name) {
    return message_of(kStart, {"run.dir=\"" + name + "\""});
  };
  const auto tilde = [](const std::string& name, const std::string& own) {
    return "override 'run.dir=\"" + name +
           "\"': run.dir: begins with \"~\", which only a shell expands; write the whole path, "
           "or " +
           own + " for a name that begins with it";
  };
  EXPECT_EQ(said("~/x"), tilde("~/x", "./~"));
  EXPECT_EQ(said("~"), tilde("~", "./~"));
  EXPECT_EQ(said("~me/x"), tilde("~me/x", "./~me"));
  for (const std::string code : {"\\n", "\\u001B", "\\u007F"}) {
    EXPECT_NE(said("a" + code + "b").find("must have no control characters"), std::string::npos);
  }
  const std::string longest(4095, 'a');
  EXPECT_NE(said(longest + "a").find("run.dir: is too long: 4096 bytes, the limit is 4095"),
            std::string::npos);
  for (const std::string good : {longest.c_str(), "./~", "a/~b", "a b", "ü"}) {
    EXPECT_EQ(parse_config(kStart + "[run]\ndir = \"" + good + "\"\n", "c.toml", {}).run_dir, good);
  }
}

// A value may have a MiB; a message shows its beginning.
TEST(ConfigErrors, MessagesCutWhatTheyQuote) {
  const std::string huge(500'000, 'x');
  for (const std::string& text :
       {"[task]\nname = \"" + huge + "\"\n", kStart + "[optim]\nname = \"" + huge + "\"\n",
        kStart + "[optim]\n" + huge + " = 1\n", "[" + huge + "]\n"}) {
    const std::string said = message_of(text);
    EXPECT_LT(said.size(), 4000u) << said.substr(0, 4000);
    EXPECT_NE(said.find("xxx..."), std::string::npos) << said.substr(0, 1000);
  }
  EXPECT_LT(message_of(kStart, {"optim.name=" + huge}).size(), 4000u);
}

TEST(ConfigErrors, Overrides) {
  const auto said = [](const std::string& override) { return message_of(kStart, {override}); };
  const std::string grammar = "expected SECTION.KEY=VALUE, as in optim.lr=3e-4";
  for (const std::string bad : {"", "optim.lr", "lr=3", "=", "=3", " optim.lr=3", "optim.lr =3"}) {
    EXPECT_EQ(said(bad), "override '" + bad + "': " + grammar);
  }
  EXPECT_EQ(said("optim.lr=1\nlog.every=2"), "override 'optim.lr=1\\u000Alog.every=2': " + grammar);
  for (const std::string bad : {"", "\"x", "[1", "{", "'"}) {
    EXPECT_EQ(said("optim.lr=" + bad),
              "override 'optim.lr=" + bad + "': optim.lr: the value is not a TOML expression");
  }
  EXPECT_EQ(said("optim.lr=x"),
            "override 'optim.lr=x': optim.lr: is a string, \"x\", must be a number");
  EXPECT_EQ(said("optim.lr=[1e-3, 3e-4]"),
            "override 'optim.lr=[1e-3, 3e-4]': optim.lr: is a list of numbers, [0.001, 0.0003], "
            "must be a number");
  EXPECT_EQ(said("optim.lrr=1"),
            "override 'optim.lrr=1': optim.lrr: unknown key; did you mean optim.lr?");
  EXPECT_EQ(said("optim.lr.x=1"),
            "override 'optim.lr.x=1': optim.lr.x: unknown key; there are name, lr, betas, eps, "
            "weight_decay, momentum, nesterov, alpha");
  EXPECT_EQ(said("opt.lr=1"), "override 'opt.lr=1': opt: unknown section; did you mean [optim]?");
  EXPECT_EQ(
      said("x.lr=1"),
      "override 'x.lr=1': x: unknown section; there are task, model, optim, schedule, train, log, "
      "run, mpi, expect");
  EXPECT_EQ(said("task.name=revers").substr(0, 72),
            "override 'task.name=revers': task.name: there is no task \"revers\"; there");
  EXPECT_EQ(
      said("schedule.warmup=20"),
      "override 'schedule.warmup=20': schedule.warmup: is 20, must be at most train.steps, 10");
}

TEST(ConfigErrors, TooLargeAndTooDeep) {
  const std::string large = kStart + "# " + std::string(1 << 20, 'x');
  EXPECT_EQ(message_of(large), "c.toml:1:1: has " + std::to_string(large.size()) +
                                   " bytes; a config has at most 1 MiB");
  EXPECT_EQ(message_of(large.substr(0, 1 << 20)), "none");
  const auto many = [](const std::string& part) {
    std::string text;
    for (int i = 0; i < 200000; ++i) text += part;
    return text;
  };
  const std::string deep = ": more than 32 dots and brackets in one line";
  EXPECT_EQ(message_of("a=1\n" + many("a.") + "a=1"), "c.toml:2:66" + deep);
  EXPECT_EQ(message_of("[" + many("a.") + "a]"), "c.toml:1:65" + deep);
  EXPECT_EQ(message_of("a=" + many("[")), "c.toml:1:35" + deep);
  EXPECT_EQ(message_of("a=" + many("{a=")), "c.toml:1:99" + deep);
  EXPECT_NE(message_of("a=" + many("[\n")), "none");
  EXPECT_NE(message_of(many("[[a")), "none");
}

TEST(ConfigErrors, AreCutShortWhenThereAreMany) {
  std::string text = kStart;
  for (int i = 0; i < 60000; ++i) text += "model.k" + std::to_string(i) + "=1\n";
  const std::string message = message_of(text);
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 100);
  EXPECT_TRUE(message.ends_with("\nand 59900 more")) << message.substr(message.size() - 80);
  const std::string long_key = message_of(kStart + "model." + std::string(1000000, 'x') + " = 1\n");
  EXPECT_TRUE(long_key.starts_with("c.toml:3:7: model.xxx"));
}

TEST(ConfigErrors, FilesThatCannotBeRead) {
  EXPECT_THROW(load_config("/nowhere/x.toml", {}), ConfigError);
  EXPECT_THROW(load_config("/tmp", {}), ConfigError);
  EXPECT_THROW(load_config("", {}), ConfigError);
}

}  // namespace
}  // namespace xgrad

#include <xgrad/train/weights/constructed.hpp>

#include <algorithm>
#include <string_view>

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/portable_math.hpp>
#include <xgrad/autograd/random.hpp>
#include <xgrad/data/options.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/checkpoint/state_dict.hpp>
#include <xgrad/train/config/keys.hpp>
#include <xgrad/train/model/build.hpp>

namespace xgrad {

/// Sets single weights of an EncoderModel, named by the two features that they connect. At first,
/// all weights are 0.
class WrittenWeights {
 public:
  WrittenWeights(const ModelConfig& model, const Parameters<double>& parameters)
      : heads_(model.heads),
        head_dim_(model.head_dim != 0 ? model.head_dim : model.width / model.heads),
        parameters_(parameters) {
    for (const Parameter<double>& p : parameters) p.variable.mutable_value().fill(0);
  }

  double& token(std::size_t id, std::size_t to) { return at("embedding.token.weight", id, to); }
  double& class_token(std::size_t to) { return at("embedding.class_token", to); }
  /// The vector of a learned position, or of the features of relative_index.
  double& position(std::size_t row, std::size_t to) {
    return at("embedding.position.weight", row, to);
  }

  enum Part : std::size_t { query, key, value };
  /// A feature of a head's query, key or value.
  double& head(std::size_t layer, std::size_t head, Part part, std::size_t from, std::size_t to) {
    const std::size_t row = (part * heads_ + head) * head_dim_ + to;
    return at(place(layer) + "self_attn.in_proj_weight", row, from);
  }
  /// The weight from a feature of a head's result to a feature of the token.
  double& output(std::size_t layer, std::size_t head, std::size_t from, std::size_t to) {
    return at(place(layer) + "self_attn.out_proj.weight", to, head * head_dim_ + from);
  }

  /// The weights of the first layer's MLP: to a hidden feature, and from it to a feature of the
  /// token.
  double& hidden(std::size_t from, std::size_t to) {
    return at(place(0) + "linear1.weight", to, from);
  }
  double& hidden_bias(std::size_t to) { return at(place(0) + "linear1.bias", to); }
  double& mlp(std::size_t from, std::size_t to) {
    return at(place(0) + "linear2.weight", to, from);
  }

  double& logit(std::size_t from, std::size_t to) { return at("head.weight", to, from); }
  double& logit_bias(std::size_t to) { return at("head.bias", to); }

 private:
  static std::string place(std::size_t layer) {
    return "encoder.layers." + std::to_string(layer) + ".";
  }
  // Throws ConfigError if the tensor is too small, as it is for another task.
  double& at(const std::string& name, std::size_t row, std::size_t column = 0) {
    Tensor<double>& value = parameters_.at(name).mutable_value();
    const std::size_t columns = value.dimension() > 1 ? value.shape(1) : 1;
    check<ConfigError>(
        row < value.size() / columns && column < columns, "model.init_from: ", kConstructed,
        " the weights do not fit this task: ", name, " has no element (", row, ", ", column, ")");
    return value.data()[row * columns + column];
  }

  std::size_t heads_, head_dim_;
  const Parameters<double>& parameters_;
};

namespace {

// The difference between the score of the right place and all other scores.
constexpr double kSharp = 40;

// An encoder without norms and dropout.
ModelConfig plain(std::size_t layers, std::size_t width, std::size_t feedforward = 1) {
  return {.width = width,
          .heads = 1,
          .layers = layers,
          .feedforward = feedforward,
          .dropout = 0,
          .attention_dropout = 0,
          .norm = "none",
          .final_norm = false,
          .activation = "relu"};
}

// Chiang & Cholak 2022, section 3.2, for any number S of symbols. Features: tokens one-hot in
// 0 ... S - 1, the class token in S, whether a place is the first in S + 1, then whether the first
// token is each symbol. log_scale keeps the share of the first token at 1/2 for any length.
ModelConfig first_model(const TaskShape& shape) {
  ModelConfig model = plain(2, 2 * shape.classes + 2, shape.classes);
  model.log_scale = true;
  model.scale = 1;
  return model;
}

void write_first(const TaskShape& shape, WrittenWeights& w) {
  const std::size_t symbols = shape.classes, cls = symbols, first = symbols + 1;
  w.class_token(cls) = w.position(1, first) = 1;
  for (std::size_t s = 0; s < symbols; ++s) {
    const std::size_t found = symbols + 2 + s;
    w.token(s, s) = 1;
    // (x_s + x_first - 1)_+ is 1 for symbol s at the first place.
    w.hidden(s, s) = w.hidden(first, s) = w.mlp(s, found) = 1;
    w.hidden_bias(s) = -1;
    w.head(1, 0, w.value, found, s) = w.output(1, 0, s, found) = w.logit(found, s) = 1;
  }
  // The class token looks for the first place.
  w.head(1, 0, w.query, cls, 0) = w.head(1, 0, w.key, first, 0) = 1;
}

// Weiss et al. 2021, for a fixed length n. Features: tokens one-hot, then the share of each symbol
// (from the attention), then the share of the token's own symbol.
ModelConfig histogram_model(const TaskShape& shape) {
  ModelConfig model = plain(1, 2 * shape.vocabulary + 1, shape.vocabulary);
  model.positions = "none";
  model.scale = 1;
  return model;
}

void write_histogram(const TaskShape& shape, WrittenWeights& w) {
  const std::size_t symbols = shape.vocabulary, share = 2 * symbols;
  for (std::size_t s = 0; s < symbols; ++s) {
    w.token(s, s) = 1;
    w.head(0, 0, w.query, s, s) = w.head(0, 0, w.key, s, s) = w.head(0, 0, w.value, s, s) = 1;
    w.output(0, 0, s, symbols + s) = 1;
    // (x_s + a_s - 1)_+ is the share a_s of the token's own symbol, since a_s <= 1.
    w.hidden(s, s) = w.hidden(symbols + s, s) = w.mlp(s, share) = 1;
    w.hidden_bias(s) = -1;
  }
  // Among n tokens, c equal ones with score 1, where the others have score 0, have the share r_c =
  // c e / (c e + n - c). The logit of class c - 1, which means the count c, is -(r - r_c)^2 + r^2:
  // it is linear in the share r, and largest for the nearest r_c.
  const auto n = double(shape.max_length);
  for (std::size_t c = 1; c <= shape.classes; ++c) {
    const double e = portable::exp(1.0), r = double(c) * e / (double(c) * e + n - double(c));
    w.logit(share, c - 1) = 2 * r;
    w.logit_bias(c - 1) = -r * r;
  }
}

// Chiang & Cholak 2022, section 3.1; the weights are those of the authors' program, with a class
// token at place 0 instead of an end token. Features: bits one-hot in 0 and 1, the class token in
// 2, i/n in 3, (-1)^i in 4, then the results of the layers.
enum ParityFeature : std::size_t { one = 1, end, index, sign, ones, unit, last, answer };

ModelConfig parity_model(const TaskShape&) {
  ModelConfig model = plain(2, 10, 3);
  model.heads = 2;
  model.positions = "relative_index";
  return model;
}

void write_parity(const TaskShape&, WrittenWeights& w) {
  w.token(0, 0) = w.token(1, one) = w.class_token(end) = 1;
  w.position(index, 0) = w.position(sign, 1) = 1;
  // Without queries a head takes the mean: k/n of the k ones, and 1/n of the class token.
  w.head(0, 0, w.value, one, 0) = w.head(0, 0, w.value, end, 1) = 1;
  w.output(0, 0, 0, ones) = w.output(0, 0, 1, unit) = 1;
  // 1/n at place i = k and 0 elsewhere: (k-i-1)_+ - 2 (k-i)_+ + (k-i+1)_+, all over n.
  for (std::size_t h = 0; h < 3; ++h) {
    w.hidden(ones, h) = 1;
    w.hidden(index, h) = -1;
    w.hidden(unit, h) = double(h) - 1;
    w.mlp(h, last) = h == 1 ? -2 : 1;
  }
  // From the class token, one head looks at even places and one at odd ones.
  for (std::size_t head = 0; head < 2; ++head) {
    w.head(1, head, w.query, end, 0) = w.head(1, head, w.value, last, 0) = 1;
    w.head(1, head, w.key, sign, 0) = head == 0 ? 1 : -1;
    w.output(1, head, 0, answer) = head == 0 ? -1 : 1;
  }
  w.logit(answer, 0) = -0.5;
  w.logit(answer, 1) = 0.5;
}

// RASP's aggregate(select(indices, source, ==), tokens), Weiss et al. 2021. Features: tokens
// one-hot, then places one-hot, then the answer one-hot.
ModelConfig reorder_model(const TaskShape& shape) {
  ModelConfig model = plain(1, 2 * shape.vocabulary + shape.max_length);
  model.scale = 1;
  return model;
}

template <bool reversed>
void write_reorder(const TaskShape& shape, WrittenWeights& w) {
  const std::size_t symbols = shape.vocabulary, length = shape.max_length;
  for (std::size_t i = 0; i < length; ++i) {
    w.position(i, symbols + i) = 1;
    w.head(0, 0, w.query, symbols + i, reversed ? length - 1 - i : i) = kSharp;
    w.head(0, 0, w.key, symbols + i, i) = 1;
  }
  for (std::size_t symbol = 0; symbol < symbols; ++symbol) {
    const std::size_t answer_of = symbols + length + symbol;
    w.token(symbol, symbol) = 1;
    w.head(0, 0, w.value, symbol, symbol) = 1;
    w.output(0, 0, symbol, answer_of) = 1;
    w.logit(answer_of, symbol) = 1;
  }
}

// Keys of [model] that do not change what the weights compute in evaluation.
constexpr std::string_view kFree[] = {"preset",    "dropout",     "attention_dropout",
                                      "init_from", "init_strict", "init_noise"};

void check_settings(const ConstructedEncoder& encoder, const ModelConfig& model,
                    const ModelConfig& wanted) {
  Config given, right;
  given.model = model;
  right.model = wanted;
  std::vector<std::string> needed;
  for (const detail::ConfigKey& key : detail::config_keys()) {
    if (key.section != "model" || std::ranges::count(kFree, key.spec.name) > 0) continue;
    const auto value = key.get(right);
    if (value && value != key.get(given)) {
      needed.push_back(key.name() + " = " + to_literal(*value));
    }
  }
  check<ConfigError>(needed.empty(), "model.init_from: ", kConstructed, encoder.name, " needs ",
                     joined(needed));
}

}  // namespace

const std::vector<ConstructedEncoder>& constructed_encoders() {
  static const std::vector<ConstructedEncoder> encoders = {
      {"copy", "One head attends to the token itself (Weiss et al. 2021).", "length = 16\n",
       reorder_model, write_reorder<false>},
      {"first", "One head attends to the first place, at any length (Chiang & Cholak 2022).",
       "length = 100\nmin_length = 4\n", first_model, write_first},
      {"histogram",
       "One head attends to equal tokens; its weight on them tells their count; for one length "
       "(Weiss et al. 2021).",
       "length = 16\n", histogram_model, write_histogram},
      {"parity",
       "Two layers mark the place of the last 1 of the sorted bits, and say whether it is "
       "odd; at any length (Chiang & Cholak 2022).",
       "length = 500\nmin_length = 1\n", parity_model, write_parity},
      {"reverse",
       "One head attends to the place counted from the end; for one length (Weiss et "
       "al. 2021).",
       "length = 16\n", reorder_model, write_reorder<true>},
  };
  return encoders;
}

const ConstructedEncoder& find_constructed_encoder(const std::string& name) {
  std::vector<std::string> names;
  for (const ConstructedEncoder& encoder : constructed_encoders()) {
    if (encoder.name == name) return encoder;
    names.push_back(encoder.name);
  }
  detail::fail<ConfigError>("there is no constructed encoder ", excerpt(name), "; there are ",
                            joined(names));
}

std::vector<NamedTensor> constructed_weights(const ConstructedEncoder& encoder,
                                             const ModelConfig& model, const TaskShape& shape) {
  const TaskShape own = find_task(encoder.name).make({}, 1)->shape();
  check<ConfigError>(shape.input == own.input && shape.output == own.output &&
                         shape.target == own.target && !shape.graph && shape.vocabulary > 0,
                     "model.init_from: ", kConstructed, encoder.name, " needs the task ",
                     encoder.name);
  check_settings(encoder, model, encoder.model(shape));
  Parameters<double> parameters(1);
  Config config;
  config.model = model;
  const auto made = make_model<double>(config, shape, parameters);
  WrittenWeights weights(model, parameters);
  encoder.write(shape, weights);
  return capture(parameters);
}

void add_noise(std::vector<NamedTensor>& weights, double deviation, std::uint64_t seed) {
  const Rng rng = Rng(seed) / "noise";
  for (NamedTensor& tensor : weights) {
    std::visit(
        [&]<class T>(Tensor<T>& value) {
          const std::vector<double> noise = (rng / tensor.name).normals(value.size());
          for (std::size_t i = 0; i < value.size(); ++i) value.data()[i] += T(deviation * noise[i]);
        },
        tensor.tensor);
  }
}

Checkpoint construct(const ConstructedEncoder& encoder, const std::vector<std::string>& overrides,
                     double noise) {
  for (const std::string& text : overrides) {
    check<ConfigError>(text.starts_with("task.") || text.starts_with("train.seed="), excerpt(text),
                       ": only train.seed and keys of [task] can be set, as in task.length=100");
  }
  Config config = parse_config("[task]\nname = \"" + encoder.name + "\"\n" + encoder.task +
                                   "[train]\nsteps = 1\nprecision = \"double\"\n",
                               encoder.name, overrides);
  const TaskShape shape = make_task(config)->shape();
  config.model = encoder.model(shape);
  Checkpoint checkpoint;
  checkpoint.parameters = constructed_weights(encoder, config.model, shape);
  if (noise > 0) add_noise(checkpoint.parameters, noise, config.train.seed);
  checkpoint.config = to_toml(config, /*with_execution_keys=*/false);
  return checkpoint;
}

}  // namespace xgrad

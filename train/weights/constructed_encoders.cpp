// The encoders that are written down, each with its features.

#include <xgrad/autograd/check.hpp>
#include <xgrad/autograd/portable_math.hpp>
#include <xgrad/train/weights/constructed.hpp>
#include <xgrad/train/weights/written_weights.hpp>

namespace xgrad {

namespace {

// How far the score of the right place is above all others.
constexpr double kSharp = 40;

// An encoder without norms and dropout.
ModelConfig plain(std::size_t layers, std::size_t width) {
  ModelConfig model;
  model.layers = layers;
  model.width = width;
  model.heads = 1;
  model.feedforward = 1;
  model.dropout = model.attention_dropout = 0;
  model.norm = "none";
  model.final_norm = false;
  model.activation = "relu";
  return model;
}

// Chiang & Cholak 2022, section 3.2, for any number S of symbols. Features: tokens one-hot in
// 0 ... S - 1, the class token in S, whether a place is the first in S + 1, then whether the first
// token is each symbol. log_scale keeps the share of the first token at 1/2 for any length.
ModelConfig first_model(const TaskShape& shape) {
  ModelConfig model = plain(2, 2 * shape.classes + 2);
  model.feedforward = shape.classes;
  model.log_scale = true;
  model.scale = 1;
  return model;
}

void write_first(const TaskShape& shape, WrittenWeights& w) {
  const std::size_t symbols = shape.classes, cls = symbols, first = symbols + 1;
  w.class_token(cls) = 1;
  w.position(1, first) = 1;
  for (std::size_t s = 0; s < symbols; ++s) {
    const std::size_t found = symbols + 2 + s;
    w.token(s, s) = 1;
    // (x_s + x_first - 1)_+ is 1 for symbol s at the first place.
    w.hidden(0, s, s) = w.hidden(0, first, s) = 1;
    w.hidden_bias(0, s) = -1;
    w.mlp(0, s, found) = 1;
    w.attended(1, 0, found, s) = 1;
    w.output(1, 0, s, found) = 1;
    w.logit(found, s) = 1;
  }
  // The class token looks for the first place.
  w.query(1, 0, cls, 0) = 1;
  w.key(1, 0, first, 0) = 1;
}

// Weiss et al. 2021, for a fixed length n. Features: tokens one-hot, then what the attention gives
// of each symbol, then the share of the token's own symbol.
ModelConfig histogram_model(const TaskShape& shape) {
  ModelConfig model = plain(1, 2 * shape.vocabulary + 1);
  model.feedforward = shape.vocabulary;
  model.positions = "none";
  model.scale = 1;
  return model;
}

void write_histogram(const TaskShape& shape, WrittenWeights& w) {
  const std::size_t symbols = shape.vocabulary, share = 2 * symbols;
  for (std::size_t s = 0; s < symbols; ++s) {
    w.token(s, s) = 1;
    w.query(0, 0, s, s) = w.key(0, 0, s, s) = 1;
    w.attended(0, 0, s, s) = 1;
    w.output(0, 0, s, symbols + s) = 1;
    // (x_s + a_s - 1)_+ is the share a_s of the token's own symbol, since a_s <= 1.
    w.hidden(0, s, s) = w.hidden(0, symbols + s, s) = 1;
    w.hidden_bias(0, s) = -1;
    w.mlp(0, s, share) = 1;
  }
  // Of n tokens, c equal ones with score 1 and the others with score 0 have the share
  // r_c = c e / (c e + n - c). The nearest r_c to the share r: -(r - r_c)^2 is linear in r but for
  // r^2, which is the same for every class. Class c - 1 means the count c.
  const auto n = double(shape.max_length);
  for (std::size_t c = 1; c <= shape.classes; ++c) {
    const double e = portable::exp(1.0), r = double(c) * e / (double(c) * e + n - double(c));
    w.logit(share, c - 1) = 2 * r;
    w.logit_bias(c - 1) = -r * r;
  }
}

// Chiang & Cholak 2022, section 3.1; the weights are those of the authors' program, with a class
// token at place 0 instead of an end token. Features: bits one-hot in 0 and 1, the class token in
// 2, i/n in 3, (-1)^i in 4, then what the layers find.
enum ParityFeature : std::size_t { one = 1, end, index, sign, ones, unit, last, answer };

ModelConfig parity_model(const TaskShape&) {
  ModelConfig model = plain(2, 10);
  model.heads = 2;
  model.feedforward = 3;
  model.positions = "relative_index";
  return model;
}

void write_parity(const TaskShape&, WrittenWeights& w) {
  w.token(0, 0) = w.token(1, one) = w.class_token(end) = 1;
  w.position(index, 0) = 1;
  w.position(sign, 1) = 1;
  // Without queries a head takes the mean: k/n of the k ones, and 1/n of the class token.
  w.attended(0, 0, one, 0) = 1;
  w.attended(0, 0, end, 1) = 1;
  w.output(0, 0, 0, ones) = 1;
  w.output(0, 0, 1, unit) = 1;
  // 1/n at place i = k and 0 elsewhere: (k-i-1)_+ - 2 (k-i)_+ + (k-i+1)_+, all over n.
  for (std::size_t h = 0; h < 3; ++h) {
    w.hidden(0, ones, h) = 1;
    w.hidden(0, index, h) = -1;
    w.hidden(0, unit, h) = double(h) - 1;
    w.mlp(0, h, last) = h == 1 ? -2 : 1;
  }
  // From the class token, one head looks at even places and one at odd ones; place k is odd or
  // even.
  for (std::size_t head = 0; head < 2; ++head) {
    w.query(1, head, end, 0) = 1;
    w.key(1, head, sign, 0) = head == 0 ? 1 : -1;
    w.attended(1, head, last, 0) = 1;
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

template <class Source>
void write_reorder(const TaskShape& shape, WrittenWeights& w, const Source& source) {
  const std::size_t symbols = shape.vocabulary, length = shape.max_length;
  for (std::size_t i = 0; i < length; ++i) {
    w.position(i, symbols + i) = 1;
    w.query(0, 0, symbols + i, source(i)) = kSharp;
    w.key(0, 0, symbols + i, i) = 1;
  }
  for (std::size_t symbol = 0; symbol < symbols; ++symbol) {
    const std::size_t answer_of = symbols + length + symbol;
    w.token(symbol, symbol) = 1;
    w.attended(0, 0, symbol, symbol) = 1;
    w.output(0, 0, symbol, answer_of) = 1;
    w.logit(answer_of, symbol) = 1;
  }
}

void write_copy(const TaskShape& shape, WrittenWeights& w) {
  write_reorder(shape, w, [](std::size_t i) { return i; });
}

void write_reverse(const TaskShape& shape, WrittenWeights& w) {
  write_reorder(shape, w, [last = shape.max_length - 1](std::size_t i) { return last - i; });
}

}  // namespace

const std::vector<ConstructedEncoder>& constructed_encoders() {
  static const std::vector<ConstructedEncoder> encoders = {
      {"copy", "One head attends to the token itself (Weiss et al. 2021).", "length = 16\n",
       reorder_model, write_copy},
      {"first", "One head attends to the first place, at any length (Chiang & Cholak 2022).",
       "length = 100\nmin_length = 4\n", first_model, write_first},
      {"histogram",
       "One head attends to equal tokens, whose share tells their number; for one "
       "length (Weiss et al. 2021).",
       "length = 16\n", histogram_model, write_histogram},
      {"parity",
       "Two layers mark the place of the last 1 of the sorted bits, and say whether it is "
       "odd; at any length (Chiang & Cholak 2022).",
       "length = 500\nmin_length = 1\n", parity_model, write_parity},
      {"reverse",
       "One head attends to the place counted from the end; for one length (Weiss et "
       "al. 2021).",
       "length = 16\n", reorder_model, write_reverse},
  };
  return encoders;
}

}  // namespace xgrad

#include <xgrad/layers/attention/weights.hpp>

#include <functional>
#include <limits>
#include <map>

#include <xgrad/layers/attention/position_bias.hpp>
#include <xgrad/train/export/onnx/layers.hpp>

namespace xgrad::onnx_export {

namespace {

using Integers = std::vector<std::int64_t>;
const OnnxGraph::Attribute kLast = {"axis", std::int64_t{-1}};

const std::map<std::string, Score> kScores = {
    {"dot", Score::dot}, {"cosine", Score::cosine}, {"additive", Score::additive}};

// Returns j - i (N, M) for query i and key j of q (B, N, H, d) and k (B, M, H, d).
Value distance(Builder& b, const Value& q, const Value& k) {
  OnnxGraph& g = b.graph;
  const auto places = [&](const Value& x) {
    const Value count = g("Squeeze", {extent(b, x, 1), g.integers({0})});
    return g("Range", {g.integer(0), count, g.integer(1)});
  };
  return g("Sub", {g("Unsqueeze", {places(k), g.integers({0})}),
                   g("Unsqueeze", {places(q), g.integers({1})})});
}

// A mask that broadcasts to (B, H, N, M), true where a query may attend to a key; empty if it is
// true everywhere.
Value seen(Builder& b, const Value& distance, const AttentionOptions& options) {
  OnnxGraph& g = b.graph;
  Value all;
  const auto only = [&](const Value& more) { all = all.empty() ? more : g("And", {all, more}); };
  if (!options.key_mask.empty()) only(g("Unsqueeze", {options.key_mask, g.integers({1, 2})}));
  if (!options.mask.empty()) only(g("Unsqueeze", {options.mask, g.integers({1})}));
  if (options.causal) only(g("LessOrEqual", {distance, g.integer(0)}));
  if (options.self && b.config.model.exclude_self) {
    only(g("Not", {g("Equal", {distance, g.integer(0)})}));
  }
  return all;
}

// The bias (H, N, M) that PositionBias adds; empty if there is none.
Value position_bias(Builder& b, const Value& distance, const std::string& path) {
  OnnxGraph& g = b.graph;
  const ModelConfig& model = b.config.model;
  if (model.positions == "alibi") {
    const std::vector<double> slopes = alibi_slopes(model.heads);
    Tensor<float> factors = empty<float>({model.heads, 1, 1});
    for (std::size_t h = 0; h < model.heads; ++h) factors(h, 0, 0) = -float(slopes[h]);
    const Value far = g("Cast", {g("Abs", {distance})}, {{"to", std::int64_t{1}}});
    return g("Mul", {g.tensor(factors), far});
  }
  if (model.positions != "relative_bias") return {};
  const auto most = std::int64_t(model.max_distance);
  const Value near = g("Min", {g("Max", {distance, g.integer(-most)}), g.integer(most)});
  const Value rows = g("Add", {near, g.integer(most)});
  const Value table = g.weight(path + ".relative_position_bias_table");
  return g("Transpose", {g("Gather", {table, rows})}, {{"perm", Integers{2, 0, 1}}});
}

// w.tanh(q + k) for each head, (B, H, N, M).
Value additive_scores(Builder& b, const Value& q, const Value& k, const std::string& path) {
  OnnxGraph& g = b.graph;
  const auto per_head = [&](const Value& x, std::int64_t axis) {
    const Value y = g("Transpose", {x}, {{"perm", Integers{0, 2, 1, 3}}});
    return g("Unsqueeze", {y, g.integers({axis})});
  };
  const Value t = g("Tanh", {g("Add", {per_head(q, 3), per_head(k, 2)})});  // (B, H, N, M, d)
  const Value w = g("Unsqueeze", {g.weight(path + ".score_weight"), g.integers({1, 3})});
  return g("Squeeze", {g("MatMul", {t, w}), g.integers({4})});
}

Value scores(Builder& b, Value q, Value k, const std::string& path) {
  OnnxGraph& g = b.graph;
  const ModelConfig& model = b.config.model;
  const Score score = kScores.at(model.score);
  const std::size_t size = model.head_dim != 0 ? model.head_dim : model.width / model.heads;
  const Value factor = g.scalar(
      float(score_factor({.score = score, .temperature = model.temperature},
                         model.scale > 0 ? std::optional(model.scale) : std::nullopt, size)));
  if (score == Score::additive) return g("Mul", {additive_scores(b, q, k, path), factor});
  if (score == Score::cosine) {
    for (Value* x : {&q, &k}) *x = to_root_mean_square_1(b, *x, 1e-24);
  }
  q = g("Transpose", {q}, {{"perm", Integers{0, 2, 1, 3}}});
  k = g("Transpose", {k}, {{"perm", Integers{0, 2, 3, 1}}});
  return g("MatMul", {g("Mul", {q, factor}), k});
}

// The lowest finite number instead of minus infinity keeps fully masked rows free of NaN.
constexpr float kLowest = std::numeric_limits<float>::lowest();

Value where_seen(Builder& b, const Value& seen, const Value& x, float other) {
  return seen.empty() ? x : b.graph("Where", {seen, x, b.graph.scalar(other)});
}

// Martins & Astudillo 2016: max(z - tau, 0), with tau such that the results sum to 1. With the
// scores z of the keys in descending order, the first K are above tau, where K is the largest
// number with 1 + K z_K > z_1 + ... + z_K. A key 1 or more below the largest is never above tau.
// Masked keys are 2 below, so they change nothing.
Value sparsemax(Builder& b, const Value& scores, const Value& seen) {
  OnnxGraph& g = b.graph;
  const Value shown = where_seen(b, seen, scores, kLowest);
  const Value largest = g("ReduceMax", {shown}, {{"axes", Integers{-1}}});
  const Value z = where_seen(b, seen, g("Sub", {scores, largest}), -2);
  const Value keys = extent(b, z, 3);
  const Value sorted = g.several(2, "TopK", {z, keys}, {kLast}).front();
  const Value place =
      g("Range", {g.integer(1), g("Add", {g("Squeeze", {keys, g.integers({0})}), g.integer(1)}),
                  g.integer(1)});
  const Value rank = g("Cast", {place}, {{"to", std::int64_t{1}}});
  const Value bound = g("Add", {g("Mul", {sorted, rank}), g.scalar(1)});
  const Value above = g("Cast", {g("Greater", {bound, g("CumSum", {sorted, g.integer(3)})})},
                        {{"to", std::int64_t{1}}});
  const auto sum = [&](const Value& x) { return g("ReduceSum", {x, g.integers({-1})}); };
  const Value tau = g("Div", {g("Sub", {sum(g("Mul", {sorted, above})), g.scalar(1)}), sum(above)});
  return g("Relu", {g("Sub", {z, tau})});
}

// Applies the attention activation; masked keys get 0.
Value activated(Builder& b, const Value& scores, const Value& seen) {
  OnnxGraph& g = b.graph;
  const std::string& kind = b.config.model.attention_activation;
  Value p;
  if (kind == "softmax") {
    p = g("Softmax", {where_seen(b, seen, scores, kLowest)}, {kLast});
  } else if (kind == "sparsemax") {
    p = sparsemax(b, scores, seen);
  } else {
    p = g(kind == "sigmoid" ? "Sigmoid" : "Relu", {scores});
    if (kind == "squared_relu") p = g("Mul", {p, p});
  }
  return where_seen(b, seen, p, 0);
}

}  // namespace

Value attention_weights(Builder& b, const Value& q, const Value& k, const std::string& path,
                        const AttentionOptions& options) {
  OnnxGraph& g = b.graph;
  const ModelConfig& model = b.config.model;
  const bool by_place = options.causal || model.exclude_self || model.positions == "alibi" ||
                        model.positions == "relative_bias";
  const Value far = options.self && by_place ? distance(b, q, k) : Value();
  const Value see = seen(b, far, options);
  const auto keys = [&] {  // number of keys that a query may attend to, at least 1
    const Value each = see.empty() ? extent(b, k, 1) : see;
    const Value count = g("Cast", {each}, {{"to", std::int64_t{1}}});
    return g("Max", {g("ReduceSum", {count, g.integers({-1})}), g.scalar(1)});
  };
  Value s = scores(b, q, k, path);
  if (model.log_scale) s = g("Mul", {s, g("Log", {keys()})});
  const Value bias = options.self ? position_bias(b, far, path) : Value();
  if (!bias.empty()) s = g("Add", {s, bias});
  const Value p = activated(b, s, see);
  return model.attention_mean ? g("Div", {p, keys()}) : p;
}

}  // namespace xgrad::onnx_export

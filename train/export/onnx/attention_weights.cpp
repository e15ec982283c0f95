#include <xgrad/layers/attention/weights.hpp>

#include <functional>
#include <map>

#include <xgrad/layers/positions.hpp>
#include <xgrad/train/export/onnx/layers.hpp>

namespace xgrad::onnx_export {

namespace {

const OnnxGraph::Attribute kLast = {"axis", -1};

const std::map<std::string, Score> kScores = {
    {"dot", Score::dot}, {"cosine", Score::cosine}, {"additive", Score::additive}};

// Returns j - i (N, M) for query i and key j of q (B, N, H, d) and k (B, M, H, d).
Value distance(Builder& g, const Value& q, const Value& k) {
  const auto places = [&](const Value& x) {
    const Value count = g("Squeeze", {extent(g, x, 1), Integers{0}});
    return g("Range", {0, count, 1});
  };
  return g("Sub",
           {g("Unsqueeze", {places(k), Integers{0}}), g("Unsqueeze", {places(q), Integers{1}})});
}

// A mask that broadcasts to (B, H, N, M), true where a query may attend to a key; empty if it is
// true everywhere.
Value seen(Builder& g, const Value& distance, const AttentionOptions& options) {
  Value all;
  const auto only = [&](const Value& more) { all = all.empty() ? more : g("And", {all, more}); };
  if (!options.key_mask.empty()) only(g("Unsqueeze", {options.key_mask, Integers{1, 2}}));
  if (!options.mask.empty()) only(g("Unsqueeze", {options.mask, Integers{1}}));
  if (options.causal) only(g("LessOrEqual", {distance, 0}));
  if (options.self && g.model.exclude_self) {
    only(g("Not", {g("Equal", {distance, 0})}));
  }
  return all;
}

// The bias (H, N, M) that PositionBias adds; empty if there is none.
Value position_bias(Builder& g, const Value& distance, const std::string& path) {
  if (g.model.positions == "alibi") {
    const std::vector<double> slopes = alibi_slopes(g.model.heads);
    Tensor<float> factors = empty<float>({g.model.heads, 1, 1});
    for (std::size_t h = 0; h < g.model.heads; ++h) factors(h, 0, 0) = -float(slopes[h]);
    const Value far = g.as_float(g("Abs", {distance}));
    return g("Mul", {factors, far});
  }
  if (g.model.positions != "relative_bias") return {};
  const auto most = std::int64_t(g.model.max_distance);
  const Value near = g("Min", {g("Max", {distance, -most}), most});
  const Value rows = g("Add", {near, most});
  const Value table = g.weight(path + ".relative_position_bias_table");
  return g.transpose(g("Gather", {table, rows}), {2, 0, 1});
}

// w.tanh(q + k) for each head, (B, H, N, M).
Value additive_scores(Builder& g, const Value& q, const Value& k, const std::string& path) {
  const auto per_head = [&](const Value& x, std::int64_t axis) {
    const Value y = g.transpose(x, {0, 2, 1, 3});
    return g("Unsqueeze", {y, Integers{axis}});
  };
  const Value t = g("Tanh", {g("Add", {per_head(q, 3), per_head(k, 2)})});  // (B, H, N, M, d)
  const Value w = g("Unsqueeze", {g.weight(path + ".score_weight"), Integers{1, 3}});
  return g("Squeeze", {g("MatMul", {t, w}), Integers{4}});
}

Value scores(Builder& g, Value q, Value k, const std::string& path) {
  const Score score = kScores.at(g.model.score);
  const std::size_t size = g.model.head_dim != 0 ? g.model.head_dim : g.model.width / g.model.heads;
  const auto factor =
      float(score_factor({.score = score, .temperature = g.model.temperature},
                         g.model.scale > 0 ? std::optional(g.model.scale) : std::nullopt, size));
  if (score == Score::additive) return g("Mul", {additive_scores(g, q, k, path), factor});
  if (score == Score::cosine) {
    for (Value* x : {&q, &k}) *x = to_root_mean_square_1(g, *x, 1e-24);
  }
  q = g.transpose(q, {0, 2, 1, 3});
  k = g.transpose(k, {0, 2, 3, 1});
  return g("MatMul", {g("Mul", {q, factor}), k});
}

// Martins & Astudillo 2016: max(z - tau, 0), with tau such that the results sum to 1. With the
// scores z of the keys in descending order, the first K are above tau, where K is the largest
// number with 1 + K z_K > z_1 + ... + z_K. A key 1 or more below the largest is never above tau.
// Masked keys are 2 below, so they change nothing.
Value sparsemax(Builder& g, const Value& scores, const Value& seen) {
  const Value shown = where(g, seen, scores, kLowest);
  const Value largest = g("ReduceMax", {shown}, {{"axes", Integers{-1}}});
  const Value z = where(g, seen, g("Sub", {scores, largest}), -2);
  const Value keys = extent(g, z, 3);
  const Value sorted = g.several(2, "TopK", {z, keys}, {kLast}).front();
  const Value place = g("Range", {1, g("Add", {g("Squeeze", {keys, Integers{0}}), 1}), 1});
  const Value rank = g.as_float(place);
  const Value bound = g("Add", {g("Mul", {sorted, rank}), 1.0f});
  const Value above = g.as_float(g("Greater", {bound, g("CumSum", {sorted, 3})}));
  const auto sum = [&](const Value& x) { return g("ReduceSum", {x, Integers{-1}}); };
  const Value tau = g("Div", {g("Sub", {sum(g("Mul", {sorted, above})), 1.0f}), sum(above)});
  return g("Relu", {g("Sub", {z, tau})});
}

// Applies the attention activation; masked keys get 0.
Value activated(Builder& g, const Value& scores, const Value& seen) {
  const std::string& kind = g.model.attention_activation;
  Value p;
  if (kind == "softmax") {
    p = g("Softmax", {where(g, seen, scores, kLowest)}, {kLast});
  } else if (kind == "sparsemax") {
    p = sparsemax(g, scores, seen);
  } else {
    p = g(kind == "sigmoid" ? "Sigmoid" : "Relu", {scores});
    if (kind == "squared_relu") p = g("Mul", {p, p});
  }
  return where(g, seen, p, 0);
}

}  // namespace

Value attention_weights(Builder& g, const Value& q, const Value& k, const std::string& path,
                        const AttentionOptions& options) {
  const bool by_place = options.causal || g.model.exclude_self || g.model.positions == "alibi" ||
                        g.model.positions == "relative_bias";
  const Value far = options.self && by_place ? distance(g, q, k) : Value();
  const Value see = seen(g, far, options);
  const auto keys = [&] {  // number of keys that a query may attend to, at least 1
    const Value each = see.empty() ? extent(g, k, 1) : see;
    const Value count = g.as_float(each);
    return g("Max", {g("ReduceSum", {count, Integers{-1}}), 1.0f});
  };
  Value s = scores(g, q, k, path);
  if (g.model.log_scale) s = g("Mul", {s, g("Log", {keys()})});
  const Value bias = options.self ? position_bias(g, far, path) : Value();
  if (!bias.empty()) s = g("Add", {s, bias});
  const Value p = activated(g, s, see);
  return g.model.attention_mean ? g("Div", {p, keys()}) : p;
}

}  // namespace xgrad::onnx_export

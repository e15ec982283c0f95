
#include <xgrad/autograd/portable_math.hpp>
#include <xgrad/layers/attention/weights.hpp>
#include <xgrad/layers/positions.hpp>
#include <xgrad/train/export/onnx/layers.hpp>

namespace xgrad::onnx_export {

namespace {

// Rotates each pair of features (2i, 2i+1) of x (B, N, H, d) by its position in N, as
// rotary_embedding() does.
Value rotary(Builder& g, const Value& x, std::int64_t heads, std::int64_t size) {
  const std::size_t places = longest(g), pairs = std::size_t(size) / 2;
  Tensor<float> cosines = empty<float>({places, 1, pairs, 1}), sines = cosines;
  for (std::size_t n = 0; n < places; ++n) {
    for (std::size_t i = 0; i < pairs; ++i) {
      const double angle = double(n) * portable::pow(10000.0, -2 * double(i) / double(size));
      cosines(n, 0, i, 0) = float(portable::cos(angle));
      sines(n, 0, i, 0) = float(portable::sin(angle));
    }
  }
  const auto rows = [&](const Tensor<float>& table) {
    return g("Slice", {table, Integers{0}, extent(g, x, 1), Integers{0}});
  };
  const Value c = rows(cosines), s = rows(sines);
  const Value paired = g("Reshape", {x, Integers{0, 0, heads, size / 2, 2}});
  const std::vector<Value> p = g.split(paired, 4, {1, 1});
  const Value first = g("Sub", {g("Mul", {p[0], c}), g("Mul", {p[1], s})});
  const Value second = g("Add", {g("Mul", {p[0], s}), g("Mul", {p[1], c})});
  const Value turned = g("Concat", {first, second}, {{"axis", 4}});
  return g("Reshape", {turned, Integers{0, 0, heads, size}});
}

// Projects queries from one sequence, keys and values from another, with the rows of one packed
// projection.
std::vector<Value> project(Builder& g, const Value& query, const Value& memory,
                           const std::string& path, std::int64_t inner) {
  const std::string in = path + ".in_proj_";
  const Integers rows{inner, 2 * inner};
  const std::vector<Value> weights = g.split(g.weight(in + "weight"), 0, rows);
  std::vector<Value> biases(2);
  if (g.has_weight(in + "bias")) biases = g.split(g.weight(in + "bias"), 0, rows);
  const Value q = linear(g, query, weights[0], biases[0]);
  const std::vector<Value> kv =
      g.split(linear(g, memory, weights[1], biases[1]), 2, {inner, inner});
  return {q, kv[0], kv[1]};
}

const Builder::Attribute kLast = {"axis", -1};

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
  if (options.self && g.model.exclude_self) only(g("Not", {g("Equal", {distance, 0})}));
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
  const Value near = g("Min", {g("Max", {distance, -most}), most}), rows = g("Add", {near, most});
  const Value table = g.weight(path + ".relative_position_bias_table");
  return g.transpose(g("Gather", {table, rows}), {2, 0, 1});
}

// w.tanh(q + k) for each head, (B, H, N, M).
Value additive_scores(Builder& g, const Value& q, const Value& k, const std::string& path) {
  const auto per_head = [&](const Value& x, std::int64_t axis) {
    return g("Unsqueeze", {g.transpose(x, {0, 2, 1, 3}), Integers{axis}});
  };
  const Value t = g("Tanh", {g("Add", {per_head(q, 3), per_head(k, 2)})});  // (B, H, N, M, d)
  const Value w = g("Unsqueeze", {g.weight(path + ".score_weight"), Integers{1, 3}});
  return g("Squeeze", {g("MatMul", {t, w}), Integers{4}});
}

Value scores(Builder& g, Value q, Value k, const std::string& path) {
  const Score score = g.model.score == "cosine"     ? Score::cosine
                      : g.model.score == "additive" ? Score::additive
                                                    : Score::dot;
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

// Attention weights (B, H, N, M) for q (B, N, H, d) and k (B, M, H, d).
Value attention_weights(Builder& g, const Value& q, const Value& k, const std::string& path,
                        const AttentionOptions& options) {
  const bool by_place = options.causal || g.model.exclude_self || g.model.positions == "alibi" ||
                        g.model.positions == "relative_bias";
  const Value far = options.self && by_place ? distance(g, q, k) : Value();
  const Value see = seen(g, far, options);
  const auto keys = [&] {  // number of keys that a query may attend to, at least 1
    const Value count = g.as_float(see.empty() ? extent(g, k, 1) : see);
    return g("Max", {g("ReduceSum", {count, Integers{-1}}), 1.0f});
  };
  Value s = scores(g, q, k, path);
  if (g.model.log_scale) s = g("Mul", {s, g("Log", {keys()})});
  const Value bias = options.self ? position_bias(g, far, path) : Value();
  if (!bias.empty()) s = g("Add", {s, bias});
  const Value p = activated(g, s, see);
  return g.model.attention_mean ? g("Div", {p, keys()}) : p;
}

}  // namespace

Value attention(Builder& g, const Value& query, const Value& memory, const std::string& path,
                const AttentionOptions& options) {
  const auto heads = std::int64_t(g.model.heads);
  const auto size =
      std::int64_t(g.model.head_dim != 0 ? g.model.head_dim : g.model.width / g.model.heads);
  const std::int64_t inner = heads * size;

  std::vector<Value> parts =
      options.self ? g.split(linear(g, query, path + ".in_proj_"), 2, {inner, inner, inner})
                   : project(g, query, memory, path, inner);
  for (Value& part : parts) part = g("Reshape", {part, Integers{0, 0, heads, size}});
  if ((options.self || g.model.cross_positions) && g.model.positions == "rotary") {
    for (const std::size_t i : {0, 1}) parts[i] = rotary(g, parts[i], heads, size);
  }
  const Value weights = attention_weights(g, parts[0], parts[1], path, options);
  const Value v = g.transpose(parts[2], {0, 2, 1, 3});
  const Value y = g.transpose(g("MatMul", {weights, v}), {0, 2, 1, 3});
  const Value joined = g("Reshape", {y, Integers{0, 0, inner}});
  return g.model.out_proj ? linear(g, joined, path + ".out_proj.") : joined;
}

}  // namespace xgrad::onnx_export

#include <xgrad/autograd/portable_math.hpp>
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
  for (Value& part : parts) {
    part = g("Reshape", {part, Integers{0, 0, heads, size}});
  }
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

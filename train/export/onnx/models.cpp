#include <xgrad/train/export/onnx/layers.hpp>

namespace xgrad::onnx_export {

namespace {

using Integers = std::vector<std::int64_t>;

// (B, N, D) -> (B, N, window D): concatenates each token's neighbours, with 0 outside of the
// sequence and for padding.
Value windows(Builder& b, Value x) {
  OnnxGraph& g = b.graph;
  const ModelConfig& model = b.config.model;
  if (model.kind == "mlp" || model.window == 1) return x;
  const Value tokens = extent(b, x, 1);
  if (!b.mask.empty()) {
    const Value keep = g("Unsqueeze", {b.mask, g.integers({2})});
    x = g("Where", {keep, x, g.scalar(0)});
  }
  const auto half = std::int64_t(model.window / 2);
  const Value longer = g("Pad", {x, g.integers({0, half, 0, 0, half, 0})});
  std::vector<Value> shifted;
  for (std::int64_t i = 0; i < std::int64_t(model.window); ++i) {
    const Value begin = g.integers({i});
    shifted.push_back(g("Slice", {longer, begin, g("Add", {tokens, begin}), g.integers({1})}));
  }
  return g("Concat", shifted, {{"axis", std::int64_t{2}}});
}

Value head(Builder& b, const Value& x) {
  return linear(b, x, "head.");
}

}  // namespace

Value encoder_model(Builder& b) {
  const Value x = embedding(b, "embedding");
  return head(b, pooling(b, encoder(b, x, "encoder")));
}

Value window_mlp(Builder& b) {
  Value x = windows(b, embedding(b, "embedding"));
  for (std::size_t i = 0; i < b.config.model.layers; ++i) {
    x = activation(b, linear(b, x, "layers." + std::to_string(i) + "."));
  }
  return head(b, pooling(b, x));
}

Value encoder_decoder_model(Builder& b) {
  const Value memory = encoder(b, embedding(b, "embedding"), "encoder");
  const Value x = output_embedding(b, "output_embedding");
  return head(b, decoder(b, x, memory, "decoder"));
}

}  // namespace xgrad::onnx_export

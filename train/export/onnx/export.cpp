#include <xgrad/train/export/export.hpp>

#include <fmt/format.h>
#include <onnx/checker.h>
#include <onnx/defs/attr_proto_util.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include <xgrad/autograd/check.hpp>
#include <xgrad/text/excerpt.hpp>
#include <xgrad/train/export/onnx/layers.hpp>
#include <xgrad/version.hpp>

namespace xgrad::onnx_export {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr int kIrVersion = 8;  // IR version of ONNX 1.12, the oldest with readers of opset 17
constexpr int kOpset = 17;

template <class T>
void fill(onnx::TensorProto& proto, const std::string& name, const T* data, const Shape& shape) {
  using Type = Builder::Type;
  constexpr bool ids = std::is_same_v<T, std::int64_t>, mask = std::is_same_v<T, std::uint8_t>;
  proto.set_name(name);
  proto.set_data_type(int(ids ? Type::i64 : mask ? Type::boolean : Type::f32));
  for (const std::size_t extent : shape) proto.add_dims(std::int64_t(extent));
  proto.set_raw_data(data, size_of(shape) * sizeof(T));
}

void describe(onnx::ValueInfoProto& proto, const std::string& name, Builder::Type type,
              const Builder::Axes& axes) {
  proto.set_name(name);
  onnx::TypeProto_Tensor& tensor = *proto.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(int(type));
  tensor.mutable_shape();
  for (const std::string& axis : axes) {
    onnx::TensorShapeProto_Dimension& dimension = *tensor.mutable_shape()->add_dim();
    if (axis.find_first_not_of("0123456789") == std::string::npos) {
      dimension.set_dim_value(std::stoll(axis));
    } else {
      dimension.set_dim_param(axis);
    }
  }
}

const Builder::Attribute kDrop = {"keepdims", 0};

// The mask as (B, N, 1), true for a token; empty if nothing is padded.
Value column(Builder& g) {
  return g.mask.empty() ? Value() : g("Unsqueeze", {g.mask, Integers{2}});
}

Value mean(Builder& g, const Value& x) {
  if (g.mask.empty()) return g("ReduceMean", {x}, {{"axes", Integers{1}}, kDrop});
  const Value keep = g.as_float(column(g));
  const Value sum = g("ReduceSum", {g("Mul", {x, keep}), Integers{1}}, {kDrop});
  const Value count = g("ReduceSum", {keep, Integers{1}}, {kDrop});
  return g("Div", {sum, g("Max", {count, 1.0f})});
}

Value max(Builder& g, const Value& x) {
  const Builder::Attribute tokens = {"axes", Integers{1}};
  const Value keep = column(g);
  const Value y = g("ReduceMax", {where(g, keep, x, kLowest)}, {tokens, kDrop});
  if (keep.empty()) return y;
  const Value any = g("ReduceMax", {g.as_float(keep)}, {tokens, kDrop});
  return g("Where", {g("Greater", {any, 0.0f}), y, 0.0f});
}

// Attention pooling with a learned query.
Value attend(Builder& g, const Value& x) {
  const Value query = g("Unsqueeze", {g.weight("pool.query"), Integers{1}}), keep = column(g);
  const auto scale = float(1 / std::sqrt(double(g.shape_of("pool.query")[0])));
  const Value scores = g("Mul", {g("MatMul", {x, query}), scale});  // (B, N, 1)
  const Value p = g("Softmax", {where(g, keep, scores, kLowest)}, {{"axis", 1}});
  return g("ReduceSum", {g("Mul", {x, where(g, keep, p, 0)}), Integers{1}}, {kDrop});
}

// (B, N, D) -> (B, D) for sequence outputs; x unchanged for token outputs.
Value pooling(Builder& g, const Value& x) {
  if (g.shape.output == OutputKind::tokens) return x;
  const std::string& kind = g.model.pool;
  if (kind == "mean") return mean(g, x);
  if (kind == "max") return max(g, x);
  if (kind == "attention") return attend(g, x);
  const Value first = g("Slice", {x, Integers{0}, Integers{1}, Integers{1}});
  return g("Squeeze", {first, Integers{1}});
}

// (B, N, D) -> (B, N, window D): concatenates each token's neighbours, with 0 outside of the
// sequence and for padding.
Value windows(Builder& g, Value x) {
  if (g.model.kind == "mlp" || g.model.window == 1) return x;
  const Value tokens = extent(g, x, 1);
  x = where(g, column(g), x, 0);
  const auto half = std::int64_t(g.model.window / 2);
  const Value longer = g("Pad", {x, Integers{0, half, 0, 0, half, 0}});
  std::vector<Builder::Input> shifted;
  for (std::int64_t i = 0; i < std::int64_t(g.model.window); ++i) {
    const Integers begin{i};
    shifted.push_back(g("Slice", {longer, begin, g("Add", {tokens, begin}), Integers{1}}));
  }
  return g("Concat", shifted, {{"axis", 2}});
}

// sign(x) log(1 + |x|)
Value symlog(Builder& g, const Value& x) {
  return g("Mul", {g("Sign", {x}), g("Log", {g("Add", {g("Abs", {x}), 1.0f})})});
}

// The models of [model] kind, from inputs to logits. `mlp` is a window_mlp with window 1.
Value logits(Builder& g) {
  const std::string& kind = g.model.kind;
  Value x = embedding(g, "embedding");
  if (kind.starts_with("encoder")) {
    x = encoder(g, x, "encoder");
  } else {
    x = windows(g, x);
    for (std::size_t i = 0; i < g.model.layers; ++i) {
      x = activation(g, linear(g, x, "layers." + std::to_string(i) + "."));
    }
  }
  if (kind == "encoder_decoder") {
    x = decoder(g, output_embedding(g, "output_embedding"), x, "decoder");
  } else {
    x = pooling(g, x);
  }
  x = linear(g, x, "head.");
  return g.model.stablemax ? symlog(g, x) : x;
}

Builder::Axes output_axes(const Config& config, const TaskShape& shape) {
  const std::string classes = std::to_string(shape.classes);
  if (shape.output == OutputKind::sequence) return {"batch", classes};
  if (shape.output == OutputKind::generated) return {"batch", "outputs", classes};
  if (shape.input != InputKind::image) return {"batch", "length", classes};
  const std::size_t side = config.model.patch;
  return {"batch", std::to_string(shape.height / side * (shape.width / side)), classes};
}

void add_metadata(Builder& graph, const TaskShape& shape, const Checkpoint& weights) {
  graph.metadata("config", weights.config);
  graph.metadata("xgrad_version", kVersion);
  graph.metadata("step", std::to_string(weights.step));
  if (!shape.class_names.empty()) graph.metadata("labels", joined(shape.class_names, "\n"));
  if (!shape.token_names.empty()) graph.metadata("vocabulary", joined(shape.token_names, "\n"));
  if (!shape.value_mean.empty()) {
    graph.metadata("value_mean", fmt::to_string(fmt::join(shape.value_mean, "\n")));
    graph.metadata("value_deviation", fmt::to_string(fmt::join(shape.value_deviation, "\n")));
  }
  if (shape.output == OutputKind::generated) {
    graph.metadata("begin_id", std::to_string(shape.classes));
    graph.metadata("end_id", std::to_string(shape.classes - 1));
  }
}

}  // namespace

Builder::Builder(const ModelConfig& of_model, const TaskShape& of_task,
                 const std::vector<NamedTensor>& weights)
    : model(of_model), shape(of_task), proto_(std::make_unique<onnx::ModelProto>()) {
  for (const auto& [name, tensor] : weights) {
    weights_[name] = {std::visit([](const auto& x) { return cast<float>(x); }, tensor)};
    check_finite<NumericError>(name, weights_[name].tensor);
  }
  proto_->set_ir_version(kIrVersion);
  proto_->set_producer_name("xgrad");
  proto_->set_producer_version(kVersion);
  proto_->add_opset_import()->set_version(kOpset);
}

Builder::~Builder() = default;

Value Builder::fresh(const std::string& op) {
  return op + "_" + std::to_string(++numbers_[op]);
}

Value Builder::input(const std::string& name, Type type, const Axes& axes) {
  describe(*proto_->mutable_graph()->add_input(), name, type, axes);
  return name;
}

void Builder::output(const Value& value, const std::string& name, const Axes& axes) {
  onnx::NodeProto& node = *proto_->mutable_graph()->add_node();
  node.set_op_type("Identity");
  node.add_input(value);
  node.add_output(name);
  describe(*proto_->mutable_graph()->add_output(), name, Type::f32, axes);
}

const Shape& Builder::shape_of(const std::string& name) const {
  check<CheckpointError>(has_weight(name), "there is no weight ", name);
  return weights_.at(name).tensor.shape();
}

Value Builder::weight(const std::string& name) {
  const Shape& extents = shape_of(name);
  auto& [tensor, used] = weights_.at(name);
  if (!used) fill(*proto_->mutable_graph()->add_initializer(), name, tensor.data(), extents);
  used = true;
  return name;
}

std::vector<std::string> Builder::unused_weights() const {
  std::vector<std::string> names;
  for (const auto& [name, weight] : weights_) {
    if (!weight.used) names.push_back(name);
  }
  return names;
}

std::vector<Value> Builder::several(std::size_t count, const char* op,
                                    const std::vector<Input>& inputs,
                                    const std::vector<Attribute>& attributes) {
  onnx::NodeProto& node = *proto_->mutable_graph()->add_node();
  node.set_op_type(op);
  const auto constant = [&]<class T>(const T* data, const Shape& extents) {
    const Value name = fresh("constant");
    fill(*proto_->mutable_graph()->add_initializer(), name, data, extents);
    return name;
  };
  const auto name_of = [&]<class X>(const X& x) {
    if constexpr (std::is_same_v<X, Value>)
      return x;
    else if constexpr (std::is_arithmetic_v<X>)
      return constant(&x, {});
    else if constexpr (std::is_same_v<X, Integers>)
      return constant(x.data(), {x.size()});
    else
      return constant(x.data(), x.shape());
  };
  for (const Input& x : inputs) node.add_input(std::visit(name_of, x));
  for (const auto& [name, value] : attributes) {
    const auto make = [n = name](const auto& x) { return onnx::MakeAttribute(n, x); };
    *node.add_attribute() = std::visit(make, value);
  }
  std::vector<Value> results;
  for (std::size_t i = 0; i < count; ++i) node.add_output(results.emplace_back(fresh(op)));
  node.set_name(results.front());
  return results;
}

void Builder::metadata(const std::string& key, const std::string& text) {
  onnx::StringStringEntryProto& entry = *proto_->add_metadata_props();
  entry.set_key(key);
  entry.set_value(text);
}

std::string Builder::finish(const std::string& name) const {
  onnx::ModelProto proto = *proto_;
  proto.mutable_graph()->set_name(name);
  const std::size_t size = proto.ByteSizeLong();
  check<CheckpointError>(size < std::numeric_limits<std::int32_t>::max(), "the ONNX model has ",
                         size, " bytes; the format allows less than 2 GB");
  const std::string bytes = proto.SerializeAsString();
  try {
    onnx::checker::check_model(proto);
    const onnx::ShapeInferenceOptions strictly(/*check_type=*/true, /*strict_mode=*/1,
                                               /*data_prop=*/true);
    onnx::shape_inference::InferShapes(proto, onnx::OpSchemaRegistry::Instance(), strictly);
  } catch (const std::runtime_error& error) {
    detail::fail<CheckpointError>("ONNX's own checker: ", error.what());
  }
  return bytes;
}

}  // namespace xgrad::onnx_export

// The settings that the functions of layers.hpp support.
xgrad::KnownModel xgrad::known_to_onnx() {
  KnownModel known = plain_encoder();
  known["kind"] = {"encoder", "encoder_decoder", "mlp", "window_mlp"};
  const auto add = [&](const char* key, std::initializer_list<const char*> words) {
    known[key].insert(known[key].end(), words.begin(), words.end());
  };
  add("positions", {"learned_2d", "relative_index", "rotary", "alibi", "relative_bias"});
  add("normalization", {"batch"});
  add("pool", {"max", "attention"});
  known["input"] = {"embedding", "one_hot"};
  known["mask"] = {"none", "causal", "adjacency"};
  known["score"] = {"dot", "cosine", "additive"};
  known["attention_activation"] = {"softmax", "relu", "squared_relu", "sigmoid", "sparsemax"};
  for (const char* any : {"embedding_norm", "max_distance", "cross_positions", "window", "out_proj",
                          "exclude_self", "scale", "temperature", "log_scale", "attention_mean"}) {
    known[any] = {};
  }
  return known;
}

std::string xgrad::to_onnx(const Config& config, const TaskShape& shape,
                           const Checkpoint& weights) {
  using namespace onnx_export;
  const std::vector<std::string> unknown = unknown_settings(config, known_to_onnx());
  check<ConfigError>(unknown.empty(), "cannot be exported to ONNX: ", joined(unknown));
  Builder graph(config.model, shape, weights.parameters);
  graph.output(logits(graph), "logits", output_axes(config, shape));
  const std::vector<std::string> unused = graph.unused_weights();
  check<CheckpointError>(unused.empty(), "cannot be exported to ONNX: the graph does not use ",
                         joined(unused));
  add_metadata(graph, shape, weights);
  return graph.finish(config.task);
}
